"""A program that a verb runs, and whose exit code it ends with."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from harness.errors import HarnessError


def run_child(verb: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end.

    Args:
        verb: Whose program it is, for messages.
        command: The program and its arguments.
        environment: All of its variables.

    Returns:
        Its exit code; as a shell gives it where a signal ended it.

    Raises:
        HarnessError: It cannot be started.
    """
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    with _signals(started, early):
        try:
            child = subprocess.Popen(command, env=environment)  # noqa: S603 - the user's own
        except OSError as error:
            raise HarnessError(
                f"{verb}: cannot run {shlex.join(command)}: {error.strerror}"
            ) from None
        started.append(child)
        for number in early:
            child.send_signal(number)
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals(started: Sequence[subprocess.Popen[bytes]], early: list[int]) -> Iterator[None]:
    """Leave it to the program what to do about signals; it ends, and then so does this.

    Ctrl-C reaches it from the terminal, as everything in the foreground; others are passed on. The
    program may run before it is in ``started``: what comes until then is kept in ``early``.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        if not started:
            early.append(number)
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
