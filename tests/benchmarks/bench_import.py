"""Importing large files: how fast, and how much memory, which must not grow with the file.

    python -m tests.benchmarks.bench_import [MB]

Makes chat messages as JSON Lines, tau-bench trajectories as one JSON list, and spans as an OTLP
document, each of the size given (100 MB where it is left out), imports each in a process of its
own, and prints seconds, MB a second and the most memory the process had. The aim is at most 500 MB
for a file of 1 GB.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Runs the command line and prints the most memory the process had, in MB.
IMPORT = """
import sys
from pathlib import Path
from harness.cli.main import main
sys.argv = ["harness", "import", "auto", sys.argv[1], "-o", sys.argv[2], "--force", "--json"]
try:
    main()
finally:
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) // 1024, file=sys.stderr)
"""
_WORDS = "the kettle boils water until steam rises over path/to/file.py: line 12 def heat(self):"


def _prose(chance: random.Random, length: int) -> str:
    return " ".join(chance.choices(_WORDS.split(), k=length // 6))


def chat(number: int, chance: random.Random) -> dict[str, Any]:
    """A run of twelve turns in chat messages, about 30 kB."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task {number}: boil water."}]
    for turn in range(12):
        call = {
            "id": f"call-{turn}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": f"ls {turn}"})},
        }
        messages += [
            {"role": "assistant", "content": _prose(chance, 400), "tool_calls": [call],
             "usage": {"prompt_tokens": 900 + turn, "completion_tokens": 90}},
            {"role": "tool", "tool_call_id": f"call-{turn}", "content": _prose(chance, 1_900)},
        ]  # fmt: skip
    return {"id": f"run-{number}", "messages": messages, "outcome": "success"}


def trajectory(number: int, chance: random.Random) -> dict[str, Any]:
    """The same as tau-bench writes it."""
    run = chat(number, chance)
    for message in run["messages"]:
        message.pop("usage", None)
    return {"task_id": number, "trial": 0, "reward": 1.0, "traj": run["messages"],
            "info": {"task": {"instruction": "You want your water boiled."}}}  # fmt: skip


def resource(number: int, chance: random.Random) -> dict[str, Any]:
    """The spans of one trace: an agent and twelve calls of a model."""
    start = 1_760_000_000_000_000_000 + number * 10**11

    def span(at: int, name: str, **attributes: str | int) -> dict[str, Any]:
        values = [
            {"key": key.replace("__", "."),
             "value": {"stringValue": value} if isinstance(value, str) else {"intValue": value}}
            for key, value in attributes.items()
        ]  # fmt: skip
        begin = start + at * 10**9
        return {"traceId": f"{number + 1:032x}", "spanId": f"{at + 1:016x}", "name": name,
                "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + 9 * 10**8),
                "attributes": values} | ({"parentSpanId": f"{1:016x}"} if at else {})  # fmt: skip

    spans = [span(0, "invoke_agent", gen_ai__operation__name="invoke_agent")]
    for turn in range(1, 13):
        asked = [{"role": "user", "parts": [{"type": "text", "content": _prose(chance, 1_900)}]}]
        said = [{"role": "assistant", "finish_reason": "stop",
                 "parts": [{"type": "text", "content": _prose(chance, 400)}]}]  # fmt: skip
        spans.append(
            span(turn, "chat", gen_ai__operation__name="chat", gen_ai__request__model="gpt-4o",
                 gen_ai__usage__input_tokens=900, gen_ai__usage__output_tokens=90,
                 gen_ai__input__messages=json.dumps(asked),
                 gen_ai__output__messages=json.dumps(said))
        )  # fmt: skip
    return {"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": spans}]}


#: By name: opening, what stands between records, closing, and a record.
KINDS: dict[str, tuple[str, str, str, Callable[[int, random.Random], dict[str, Any]]]] = {
    "chat.jsonl": ("", "\n", "\n", chat),
    "tau.json": ("[", ",\n", "]", trajectory),
    "otlp.json": ('{"resourceSpans": [', ",", "]}", resource),
}


def make(folder: Path, kind: str, megabytes: int) -> Path:
    """A file of about this size; the same bytes each time."""
    opening, between, closing, record = KINDS[kind]
    path = folder / kind
    with path.open("w", encoding="utf-8") as file:
        file.write(opening)
        for text in _records(record, between, megabytes * 10**6):
            file.write(text)
        file.write(closing)
    return path


def _records(
    record: Callable[[int, random.Random], dict[str, Any]], between: str, wanted: int
) -> Iterator[str]:
    chance = random.Random(7)  # noqa: S311 - made-up text
    number = 0
    while wanted > 0:
        text = (between if number else "") + json.dumps(record(number, chance))
        number += 1
        wanted -= len(text)
        yield text


def imported(path: Path, output: Path) -> tuple[dict[str, Any], int, float]:
    """What the import told, its most memory in MB, and its seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(path), str(output)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    took = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    told: dict[str, Any] = json.loads(done.stdout)
    return told, int(done.stderr.split()[-1]), took


def main() -> None:
    """Measure and print."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in KINDS:
            path = make(folder, kind, megabytes)
            told, memory, took = imported(path, folder / "out.jsonl")
            size = path.stat().st_size / 10**6
            print(f"{kind}: {size:,.0f} MB, {told['recordings']:,} recordings in {took:.0f} s, "
                  f"{size / took:.1f} MB/s, at most {memory} MB of memory")  # fmt: skip
            path.unlink()


if __name__ == "__main__":
    main()
