"""A file of recorded episodes that a killed process leaves whole."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path


class EpisodeFile:
    """A ``.jsonl`` file of scenarios that holds whole lines at every moment.

    Lines that are there already stay, and so do those that somebody else adds.

    Args:
        path: The file; it and its folder are made at the first line. A link stays one, and who may
            read the file stays as it is.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._lines: dict[str, bytes] = {}
        self._others: list[bytes] = []
        self._stamp: tuple[int, int] | None = None

    def reserve(self, name: str) -> None:
        """Keep the place of an episode that begins now, before those that begin later."""
        self._lines.setdefault(name, b"")

    def put(self, name: str, line: str) -> None:
        """Write the line of one episode, or replace it.

        Args:
            name: Id of the episode.
            line: Its JSON, without a line break.

        Raises:
            OSError: The file cannot be written; its old content is untouched.
        """
        self._lines[name] = line.encode("utf-8")
        self._look()
        self.path.parent.mkdir(parents=True, exist_ok=True)
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

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size
