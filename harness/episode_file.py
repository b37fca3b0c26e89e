"""A file of recorded episodes that a killed process leaves whole."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

from harness.filelocks import ProcessLock, check_folder

#: How long to wait for others who write the same file; each of them takes milliseconds.
WAIT_S = 10.0


class EpisodeFile:
    """A ``.jsonl`` file of scenarios that holds whole lines at every moment.

    Lines that are there already stay, and so do those that other processes add at the same time.

    Args:
        path: The file; it and its folder are made at the first line. A link stays one, and who may
            read the file stays as it is.
        wait_s: How long to wait while somebody else writes it.
    """

    def __init__(self, path: str | Path, *, wait_s: float = WAIT_S) -> None:
        self.path = Path(path).resolve()
        self._lines: dict[str, bytes] = {}
        self._others: list[bytes] = []
        self._stamp: tuple[int, int, int] | None = None
        lock = self.path.with_name(f".{self.path.name}.lock")
        self._lock = ProcessLock(lock, wait_s=wait_s, stays=False, poll_s=0.005)

    def check(self) -> None:
        """Make sure that it can be written; nothing is made.

        Raises:
            OSError: It cannot.
        """
        folder = next(each for each in self.path.parents if each.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        check_folder(folder)

    def reserve(self, name: str) -> None:
        """Keep the place of an episode that begins now, before those that begin later."""
        self._lines.setdefault(name, b"")

    def put(self, name: str, line: str) -> None:
        """Write the line of one episode, or replace it.

        Args:
            name: Id of the episode.
            line: Its JSON, without a line break.

        Raises:
            OSError: The file cannot be written, or somebody else is writing it for too long
                (``TimeoutError``); its old content is untouched, and the line goes into it with
                the next one.
        """
        self._lines[name] = line.encode("utf-8")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.held():
            self._look()
            self._replace()

    def _replace(self) -> None:
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            lines = (*self._others, *self._lines.values())
            beside.touch()
            if self.path.exists():
                shutil.copymode(self.path, beside)
            beside.write_bytes(b"".join(line + b"\n" for line in lines if line))
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)
        self._stamp = self._found()

    def _look(self) -> None:
        """Read again what others wrote, where the file is not as it was left."""
        found = self._found()
        if found is None or found == self._stamp:
            return
        lines = self.path.read_bytes().split(b"\n")
        self._others = [line for line in lines if line.strip() and not self._own(line)]

    def _own(self, line: bytes) -> bool:
        try:
            return json.loads(line).get("id") in self._lines
        except (ValueError, AttributeError):
            return False

    def _found(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        # Two may replace it by as many bytes within one tick of the file system's clock.
        return found.st_ino, found.st_mtime_ns, found.st_size
