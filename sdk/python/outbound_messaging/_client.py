"""The clients: one for plain calls, one for asyncio."""
import asyncio
import http.client
import time
import urllib.error
import urllib.request
from typing import Any, AsyncIterator, Dict, Iterator, Optional, Union

from ._call import Lost, Request, Response, Settings, Wait, exchange
from ._routes import AsyncRoutes, Routes


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A POST that follows a redirect becomes a GET, and sends nothing."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _send(request: Request, timeout_seconds: float) -> Union[Response, Lost]:
    given = urllib.request.Request(
        request.url, data=request.body, headers=request.headers, method=request.method
    )
    try:
        try:
            with _opener.open(given, timeout=timeout_seconds) as answer:
                return Response(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.headers, error.read())
    except http.client.InvalidURL:
        # Nothing was sent, and no repeat would be.
        raise
    # urllib.error.URLError is an OSError; so are time-outs.
    except (OSError, http.client.HTTPException) as error:
        return Lost(error)


def _settings(
    api_key: str,
    base_url: str,
    retries: int,
    retry_delay_seconds: float,
    timeout_seconds: float,
    max_retry_after_seconds: float,
) -> Settings:
    if not base_url.lower().startswith(("https://", "http://")):
        raise ValueError(f"base_url has to begin with https:// or http://, unlike {base_url}")
    return Settings(
        base_url.rstrip("/"), api_key, retries, retry_delay_seconds, timeout_seconds, max_retry_after_seconds
    )


class Client(Routes):
    """A client of the API: a method for each route, named as the `operationId` of the OpenAPI document.

    A call is repeated after a 429, a 503 or a lost connection. Sends carry an Idempotency-Key, the same at each repeat, so
    that nothing is sent twice. Whatever else the service refuses is raised as the class of its `Error-Code`. Threads may
    share a client.

    api_key: The API key, which begins with `omk_`.
    base_url: The address of the service, such as `https://messages.example.com`.
    retries: How often a request is repeated after a 429, a 503 or a lost connection.
    retry_delay_seconds: The time before the first repeat, about twice as long before each further one.
    timeout_seconds: How long an attempt may wait for a connection, and then for each part of the answer. A test of an
        endpoint takes up to 25 seconds, and a large body may wait 30 until the service has room for it.
    max_retry_after_seconds: The longest `Retry-After` that a call waits for: a longer one ends it at once with the error.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        retries: int = 5,
        retry_delay_seconds: float = 0.5,
        timeout_seconds: float = 40,
        max_retry_after_seconds: float = 60,
    ) -> None:
        self._settings = _settings(
            api_key, base_url, retries, retry_delay_seconds, timeout_seconds, max_retry_after_seconds
        )

    def _once(self, method: str, path: str, **call: Any) -> Any:
        steps = exchange(self._settings, method, path, **call)
        given: Union[Response, Lost, None] = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration as end:
                return end.value
            given = None
            if isinstance(step, Wait):
                time.sleep(step.seconds)
            else:
                given = _send(step, self._settings.timeout_seconds)

    def _items(self, field: str, path: str, query: Dict[str, Any]) -> Iterator[Any]:
        after: Optional[str] = query.get("after")
        while True:
            page = self._once("GET", path, query={**query, "after": after}, is_repeatable=True)
            yield from page[field]
            after = page["next"]
            if after is None:
                return


class AsyncClient(AsyncRoutes):
    """The client for asyncio, with the same methods and options as `Client`: a call is awaited, a list is iterated by
    `async for`. The standard library has no HTTP for asyncio, so each attempt runs in a thread; waits do not.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        retries: int = 5,
        retry_delay_seconds: float = 0.5,
        timeout_seconds: float = 40,
        max_retry_after_seconds: float = 60,
    ) -> None:
        self._settings = _settings(
            api_key, base_url, retries, retry_delay_seconds, timeout_seconds, max_retry_after_seconds
        )

    async def _once(self, method: str, path: str, **call: Any) -> Any:
        steps = exchange(self._settings, method, path, **call)
        given: Union[Response, Lost, None] = None
        while True:
            try:
                step = steps.send(given)
            except StopIteration as end:
                return end.value
            given = None
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            else:
                given = await asyncio.to_thread(_send, step, self._settings.timeout_seconds)

    async def _items(self, field: str, path: str, query: Dict[str, Any]) -> AsyncIterator[Any]:
        after: Optional[str] = query.get("after")
        while True:
            page = await self._once("GET", path, query={**query, "after": after}, is_repeatable=True)
            for item in page[field]:
                yield item
            after = page["next"]
            if after is None:
                return
