"""The verb ``record``: run a program beside the recording proxy, and say what came of it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Literal

import typer

from harness.cli import terminal
from harness.errors import HarnessError
from harness.record import Recorder, Tally, mode_of
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
    if output.suffix != ".jsonl" and mode_of(mode) != "none":
        raise HarnessError(f"record: --output: must end in .jsonl, found {str(output)!r}")
    if output.is_dir() and mode_of(mode) != "none":
        raise HarnessError(f"record: --output: {output} is a folder; name a file")
    recorder = Recorder(output, mode=mode, name=name, said=said, idle_s=idle, secrets=secrets)
    with proxy(recorder, os.environ, upstream) as variables:
        code = _run(command, {**os.environ, **variables})
    if code == 0 and (recorder.tally.missed or recorder.tally.lost):
        # The program went on without an answer, so what it did is not what was recorded; or the
        # recording is not what it did.
        code = 2
    if as_json:
        terminal.json_line({"output": str(output), "mode": mode, "exit_code": code,
                            **asdict(recorder.tally)})  # fmt: skip
    else:
        for line in _words(recorder.tally, output):
            terminal.err().print(terminal.plain(f"harness: {line}"))
    raise typer.Exit(code)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """The program's exit code; as a shell gives it where a signal ended it."""
    started: list[subprocess.Popen[bytes]] = []
    with _signals(started):
        try:
            child = subprocess.Popen(command, env=environment)  # noqa: S603 - the user's own
        except OSError as error:
            raise HarnessError(
                f"record: cannot run {shlex.join(command)}: {error.strerror}"
            ) from None
        started.append(child)
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals(started: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Leave it to the program what to do about signals; it ends, and then so does this.

    Ctrl-C reaches it from the terminal, as everything in the foreground; others are passed on.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        for child in started:
            child.send_signal(number)

    def leave(number: int, frame: FrameType | None) -> None:
        """Do nothing; the program has got it, too."""

    wanted = {signal.SIGINT: leave, signal.SIGTERM: pass_on}
    if hasattr(signal, "SIGHUP"):
        wanted[signal.SIGHUP] = pass_on
    # What is ignored here stays ignored there (`nohup`, a job in the background).
    before = {number: signal.getsignal(number) for number in wanted}
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, wanted[number])
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _words(tally: Tally, output: Path) -> Iterator[str]:
    """What came of it, a line each."""
    if not tally.calls:
        yield (
            "warning: the program asked no model through the proxy; does its client read "
            "OPENAI_BASE_URL or ANTHROPIC_BASE_URL?"
        )
    if tally.recorded:
        rules = ", ".join(f"{n} {_RULES[rule]}" for rule, n in sorted(tally.episodes.items()))
        episodes = tally.episodes.total()
        yield (
            f"recorded {episodes} episode{_s(episodes)}, {tally.recorded} call{_s(tally.recorded)} "
            f"-> {output}; put together: {rules}"
        )
    if tally.answered:
        yield f"answered {tally.answered} call{_s(tally.answered)} from {output}"
    yield from _listed("drift", "brought something else than recorded", tally.drifted)
    yield from _listed("miss", "not recorded", tally.missed)
    for path, number in sorted(tally.others.items()):
        yield f"not recorded: POST {path} ({number} time{_s(number)})"
    if tally.lost:
        yield f"warning: {tally.lost} call{_s(tally.lost)} could not be recorded: {tally.cause}"


def _listed(kind: str, words: str, found: Sequence[str]) -> Iterator[str]:
    if found:
        yield f"{kind}: {len(found)} request{_s(len(found))} {words}"
    yield from (f"{kind}: {line}" for line in found[:_TOLD])


def _s(number: int) -> str:
    return "" if number == 1 else "s"
