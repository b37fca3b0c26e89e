"""The verb ``record``: run a program beside the recording proxy, and say what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

import typer

from harness.cli import terminal
from harness.cli.child import run_child
from harness.cli.terminal import counted
from harness.record import Recorder, Tally
from harness.record.proxy import proxy

#: So many drifts and misses are told one by one.
_TOLD = 3
_RULES = {"header": "by header", "prefix": "by shared history", "idle": "by idle time"}


def record(
    command: Sequence[str],
    output: Path,
    mode: str,
    *,
    idle: float | None,
    upstream: str | None,
    name: str,
    said: Literal["user", "nudge"],
    secrets: Sequence[Path],
    as_json: bool,
) -> None:
    """Run, record or replay, and end with the program's exit code."""
    recorder = Recorder(output, mode=mode, name=name, said=said, idle_s=idle, secrets=secrets)
    with proxy(recorder, os.environ, upstream) as variables:
        code = run_child("record", command, {**os.environ, **variables})
    tally = recorder.tally
    if code == 0 and (tally.missed or tally.lost or not tally.calls):
        # The program went on without an answer, so what it did is not what was recorded; or the
        # recording is not what it did; or nobody knows what it asked, and whom.
        code = 2
    if as_json:
        counts = {each.name: getattr(tally, each.name) for each in fields(tally)}
        terminal.json_line({"output": str(output), "mode": mode, "exit_code": code, **counts})
    else:
        for line in _words(tally, output):
            terminal.err().print(terminal.plain(f"harness: {line}"))
    raise typer.Exit(code)


def _words(tally: Tally, output: Path) -> Iterator[str]:
    """What came of it, a line each."""
    if tally.requests and not tally.calls and not tally.lost:
        yield (
            f"no model was asked: {counted(tally.requests, 'request')} came through the proxy, "
            "none of a kind that is recorded"
        )
    elif not tally.requests:
        yield (
            "nothing came through the proxy: the program asked no model there; does its client "
            "read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?"
        )
    if tally.recorded:
        rules = ", ".join(f"{n} {_RULES[rule]}" for rule, n in sorted(tally.episodes.items()))
        retried = f" ({tally.retried} retried)" if tally.retried else ""
        yield (
            f"recorded {counted(tally.episodes.total(), 'episode')}, "
            f"{counted(tally.recorded, 'call')}{retried} -> {output}; put together: {rules}"
        )
    if tally.secrets:
        yield f"{counted(tally.secrets, 'secret')} taken out of what was written"
    if tally.answered:
        yield f"answered {counted(tally.answered, 'call')} from {output}"
    yield from _listed("drift", "brought something else than recorded", tally.drifted)
    yield from _listed("miss", "not recorded", tally.missed)
    for asked, number in sorted(tally.others.items()):
        yield f"not recorded: {asked} ({counted(number, 'time')})"
    for asked, number in sorted(tally.refused.items()):
        yield f"warning: not answered, as it is never recorded: {asked} ({counted(number, 'time')})"
    if tally.lost:
        yield f"warning: {counted(tally.lost, 'call')} could not be recorded: {tally.cause}"


def _listed(kind: str, words: str, found: Sequence[str]) -> Iterator[str]:
    if found:
        yield f"{kind}: {counted(len(found), 'request')} {words}"
    yield from (f"{kind}: {line}" for line in found[:_TOLD])
