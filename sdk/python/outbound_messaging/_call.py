"""The repeats of a call, without what sends and waits: plain and asyncio clients share it."""
import email.utils
import json
import random
import secrets
import time
import urllib.parse
from typing import Any, Dict, Generator, Mapping, NamedTuple, Optional, Union

from ._error_classes import ERROR_CLASSES
from ._errors import ApiError, ConnectionError

LONGEST_DELAY_SECONDS = 8.0
LOST_STATUSES = (502, 503, 504)
"""What a proxy answers for a service that it lost. A 503 of the service itself has an `Error-Code`."""
REFUSED_STATUSES = (429, 503)
CALLED_CODE = "endpoint_not_called"
"""The endpoint may have been called: a repeat would call it again."""


class Settings(NamedTuple):
    """How a client reaches the service."""

    base_url: str
    api_key: str
    retries: int
    retry_delay_seconds: float
    timeout_seconds: float
    max_retry_after_seconds: float


class Request(NamedTuple):
    """One attempt of a call."""

    method: str
    url: str
    headers: Dict[str, str]
    body: Optional[bytes]


class Response(NamedTuple):
    """An answer of the service, or of something in front of it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Lost(NamedTuple):
    """No answer came, or a part of one."""

    cause: Exception


class Wait(NamedTuple):
    """The time before the next attempt."""

    seconds: float


Step = Union[Request, Wait]
"""What a call asks its client for."""
Exchange = Generator[Step, Union[Response, Lost, None], Any]
"""A call: it asks for attempts and waits, and returns the JSON of the answer."""


def segment(value: str) -> str:
    """An id as a part of a path. One that would make another path of its route is never sent."""
    if value in ("", ".", ".."):
        raise ValueError(f'"{value}" is no id: pass one of an answer.')
    return urllib.parse.quote(value, safe="")


def exchange(
    settings: Settings,
    method: str,
    path: str,
    *,
    query: Optional[Mapping[str, Any]] = None,
    body: Optional[Mapping[str, Any]] = None,
    is_keyed: bool = False,
    is_repeatable: bool = False,
    idempotency_key: Optional[str] = None,
) -> Exchange:
    """Repeats a request after a 429, a 503 or a lost connection, with the same Idempotency-Key each time."""
    key = secrets.token_hex(16) if is_keyed and idempotency_key is None else idempotency_key
    request = _request(settings, method, path, query or {}, body, key)
    was_lost = False
    attempt = 0
    while True:
        attempt += 1
        answer = yield request
        assert isinstance(answer, (Response, Lost))
        outcome = _outcome(answer, key)
        if not isinstance(outcome, (ApiError, Lost)):
            return outcome.value
        if method == "DELETE" and was_lost and isinstance(outcome, ApiError) and outcome.status == 404:
            return None
        is_lost = isinstance(outcome, Lost) or (outcome.code is None and outcome.status in LOST_STATUSES)
        was_lost = was_lost or is_lost
        if not _is_repeated(settings, outcome, attempt, is_repeatable if is_lost else _is_refused(outcome)):
            # A read accepts nothing: what its last attempt got is its answer.
            if isinstance(outcome, ApiError) and not is_lost and (method == "GET" or not was_lost):
                raise outcome
            remedy = "repeat the call with the same idempotency_key" if key else "read what is there before you call again"
            raise ConnectionError(
                f"The service gave no answer. Whether it accepted the request is not known: {remedy}.", key
            ) from (outcome.cause if isinstance(outcome, Lost) else outcome)
        yield Wait(_delay(outcome, attempt, settings.retry_delay_seconds))


class _Good(NamedTuple):
    value: Any


def _request(
    settings: Settings,
    method: str,
    path: str,
    query: Mapping[str, Any],
    body: Optional[Mapping[str, Any]],
    key: Optional[str],
) -> Request:
    given = {name: _text(value) for name, value in query.items() if value is not None}
    url = settings.base_url + path + ("?" + urllib.parse.urlencode(given) if given else "")
    headers = {"Authorization": f"Bearer {settings.api_key}", "Accept": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    if body is None:
        # A POST says that it has no body.
        return Request(method, url, headers, b"" if method == "POST" else None)
    headers["Content-Type"] = "application/json"
    return Request(method, url, headers, json.dumps(body).encode())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _outcome(answer: Union[Response, Lost], key: Optional[str]) -> Union[_Good, ApiError, Lost]:
    if isinstance(answer, Lost):
        return answer
    if not 200 <= answer.status < 300:
        return _error(answer, key)
    if not answer.body:
        return _Good(None)
    try:
        return _Good(json.loads(answer.body))
    except ValueError:
        return _error(answer, key)


def _error(answer: Response, key: Optional[str]) -> ApiError:
    code = answer.headers.get("Error-Code")
    try:
        shown = json.loads(answer.body)
    except ValueError:
        shown = None
    fields = shown if isinstance(shown, dict) else {}
    return ERROR_CLASSES.get(code or "", ApiError)(
        fields.get("message")
        or f"The answer is not one of the service (status {answer.status}). Compare base_url with its address.",
        status=answer.status,
        code=code,
        request_id=fields.get("requestId") or answer.headers.get("X-Request-Id"),
        retry_after_seconds=_retry_after(answer.headers.get("Retry-After")),
        idempotency_key=key,
    )


def _retry_after(header: Optional[str]) -> Optional[float]:
    """Reads a `Retry-After`, in seconds or as a date."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return int(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _is_refused(outcome: Union[ApiError, Lost]) -> bool:
    """Whether nothing was accepted, but a repeat may be."""
    return isinstance(outcome, ApiError) and outcome.status in REFUSED_STATUSES and outcome.code != CALLED_CODE


def _is_repeated(
    settings: Settings, outcome: Union[ApiError, Lost], attempt: int, is_worth_repeating: bool
) -> bool:
    seconds = (isinstance(outcome, ApiError) and outcome.retry_after_seconds) or 0
    return attempt <= settings.retries and seconds <= settings.max_retry_after_seconds and is_worth_repeating


def _delay(outcome: Union[ApiError, Lost], attempt: int, first_seconds: float) -> float:
    """As the service asks for, or twice as long each time, at random so that clients don't come at once."""
    asked = outcome.retry_after_seconds if isinstance(outcome, ApiError) else None
    if asked is not None:
        return asked + random.random() / 10
    return min(LONGEST_DELAY_SECONDS, first_seconds * 2 ** (attempt - 1)) * (0.5 + random.random() / 2)
