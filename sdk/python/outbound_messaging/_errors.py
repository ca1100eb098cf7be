"""What a call may raise."""
import copyreg
from typing import Any, Optional, Tuple


class OutboundError(Exception):
    """What all errors of this package extend."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> Tuple[Any, ...]:
        # An exception is rebuilt from its message alone, which these don't do with: a pool of processes would break.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ApiError(OutboundError):
    """The service refused a request.

    Each `Error-Code` has a class of its own, such as `ChannelNotFoundError`. A code that this release doesn't know is an
    `ApiError` itself.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: Optional[str],
        request_id: Optional[str],
        retry_after_seconds: Optional[float],
        idempotency_key: Optional[str],
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.code = code
        """The header `Error-Code`; None if something in front of the service answered."""
        self.request_id = request_id
        """The id of the request. Quote it when you ask for help."""
        self.retry_after_seconds = retry_after_seconds
        """The seconds of `Retry-After`."""
        self.idempotency_key = idempotency_key
        """The key of the request, for those that have one."""


class ConnectionError(OutboundError):  # noqa: A001
    """An attempt got no answer, and no repeat got one that says more: the request may or may not have been accepted.

    Call again with the same `idempotency_key`, which this error has, too. Its `__cause__` is the error of the last attempt.
    """

    def __init__(self, message: str, idempotency_key: Optional[str]) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key
        """The key of the request, for those that have one."""


class VerificationError(OutboundError):
    """A callback isn't genuine, or too old: answer 401, and don't read it."""
