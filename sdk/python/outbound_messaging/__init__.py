"""A client of the Outbound Messaging API: every route typed, retries that send nothing twice, callbacks verified."""
from . import types
from ._client import AsyncClient, Client
from ._error_classes import *  # noqa: F401,F403
from ._error_classes import ERROR_CLASSES
from ._errors import ApiError, ConnectionError, OutboundError, VerificationError
from ._verify import verify

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "ConnectionError",
    "OutboundError",
    "VerificationError",
    "types",
    "verify",
    *(error.__name__ for error in ERROR_CLASSES.values()),
]
__version__ = "0.2.0"
