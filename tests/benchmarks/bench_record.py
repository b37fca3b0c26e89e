"""What the recording proxy costs, as ratios in one run: python -m tests.benchmarks.bench_record

The same calls to the same scripted server, directly and through the proxy, turn about. The server
answers at once, so this is the worst case: what a model takes comes on top of both sides.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from harness.record import Recorder
from harness.record.proxy import proxy
from tests.openai_server import say, serving

ROUNDS = 15
TURNS = 20


def loop(client: httpx2.Client, url: str, *, stream: bool) -> None:
    """One conversation that grows by a turn each time."""
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Work. " * 200}]
    for _ in range(TURNS):
        body = {"model": "m", "messages": talk, "stream": stream}
        client.post(f"{url}/chat/completions", json=body).raise_for_status()
        talk += [
            {"role": "assistant", "content": "word " * 100},
            {"role": "user", "content": "On."},
        ]


def seconds(client: httpx2.Client, url: str, *, stream: bool) -> float:
    """How long one conversation takes."""
    began = time.perf_counter()
    loop(client, url, stream=stream)
    return time.perf_counter() - began


def main() -> None:
    """Print the ratio and what a call costs more."""
    for stream in (False, True):
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(script=lambda _: say("word " * 100)) as server,
            httpx2.Client() as client,
        ):
            recorder = Recorder(Path(folder) / "a.jsonl")
            with proxy(recorder, {"OPENAI_BASE_URL": server.url}) as variables:
                proxied = variables["OPENAI_BASE_URL"]
                pairs = [
                    (
                        seconds(client, server.url, stream=stream),
                        seconds(client, proxied, stream=stream),
                    )
                    for _ in range(ROUNDS)
                ]
        ratio = statistics.median(through / direct for direct, through in pairs)
        more = statistics.median((through - direct) / TURNS for direct, through in pairs)
        how = "streamed" if stream else "whole"
        print(f"{how}: {ratio:.1f} times the direct call, {more * 1000:.1f} ms more a call")


if __name__ == "__main__":
    main()
