"""Callbacks are verified by Standard Webhooks."""
import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import List, Mapping, Optional, Sequence, Union

from . import types
from ._errors import VerificationError

TOLERANCE_SECONDS = 5 * 60


def verify(
    headers: Mapping[str, str],
    body: Union[str, bytes],
    secret: Union[str, Sequence[str]],
    now: Optional[float] = None,
) -> "types.Callback":
    """Verifies a callback, and parses it. It raises VerificationError if it isn't genuine, or too old.

    headers: of the request: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Their names count in any case.
    body: the bytes of the request, unchanged: parsed and written again, they have another signature.
    secret: of the endpoint, `whsec_…`; or several, while you change it: any of them counts.
    now: the time to compare with, in seconds since 1970; callbacks of more than 5 minutes before or after it are refused.
    """
    message_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature").split(" ")
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise VerificationError("webhook-timestamp is not a time.")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        raise VerificationError(
            "The callback is more than 5 minutes from now. Check the clock of this machine."
        )
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{message_id}.{timestamp}.".encode() + content
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [_signature(one, signed) for one in secrets]
    # Each signature by each secret, whatever an earlier one gave, in constant time.
    results: List[bool] = [
        hmac.compare_digest(given.encode(), one) for given in signatures for one in expected
    ]
    if True not in results:
        raise VerificationError("No signature is by this secret. Compare it with the secret of the endpoint.")
    return json.loads(content)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = next((value for given, value in headers.items() if given.lower() == name), None)
    if not value:
        raise VerificationError(f"The header {name} is missing.")
    return value


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("The secret is not one of an endpoint: pass it whole, from whsec_ on.")
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
