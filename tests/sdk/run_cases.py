"""Runs the calls of the cases (sdk/cases), one a line of the input; each result carries the `id` of its line."""
import asyncio
import json
import keyword
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "sdk" / "python"))

import outbound_messaging as sdk  # noqa: E402

IS_ASYNC = "--asyncio" in sys.argv
OPTIONS = {
    "apiKey": ("api_key", 1),
    "baseUrl": ("base_url", 1),
    "retries": ("retries", 1),
    "retryDelayMs": ("retry_delay_seconds", 0.001),
    "timeoutMs": ("timeout_seconds", 0.001),
}


def snake(name):
    snaked = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
    return snaked + "_" if keyword.iskeyword(snaked) else snaked


def client_of(given):
    make = sdk.AsyncClient if IS_ASYNC else sdk.Client
    return make(
        **{
            OPTIONS[name][0]: value if isinstance(value, str) else value * OPTIONS[name][1]
            for name, value in given.items()
        }
    )


def prepared(step):
    method = getattr(client_of(step["client"]), snake(step.get("call") or step["list"]))
    named = {snake(name): value for name, value in {**step.get("query", {}), **step.get("options", {})}.items()}
    return method(*step.get("args", []), **named)


def run(step):
    if "verify" in step:
        return sdk.verify(**step["verify"])
    called = prepared(step)
    return list(called) if "list" in step else called


async def run_async(step):
    if "verify" in step:
        return sdk.verify(**step["verify"])
    called = prepared(step)
    return [item async for item in called] if "list" in step else await called


def shown(error):
    if not isinstance(error, sdk.OutboundError):
        return {"class": repr(error), "isMistake": True}
    return {
        "class": type(error).__name__,
        "isApiError": isinstance(error, sdk.ApiError),
        "message": str(error),
        "status": getattr(error, "status", None),
        "code": getattr(error, "code", None),
        "requestId": getattr(error, "request_id", None),
        "retryAfterSeconds": getattr(error, "retry_after_seconds", None),
        "idempotencyKey": getattr(error, "idempotency_key", None),
    }


def answer(step, result):
    print(json.dumps({"id": step["id"], **result}), flush=True)


def plain(line):
    step = json.loads(line)
    try:
        answer(step, {"answer": run(step)})
    except Exception as error:  # Each is a result.
        answer(step, {"error": shown(error)})


async def with_asyncio(line):
    step = json.loads(line)
    try:
        answer(step, {"answer": await run_async(step)})
    except Exception as error:  # Each is a result.
        answer(step, {"error": shown(error)})


async def main():
    tasks = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(with_asyncio(line))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


if IS_ASYNC:
    asyncio.run(main())
else:
    with ThreadPoolExecutor(32) as pool:
        for each in sys.stdin:
            pool.submit(plain, each)
