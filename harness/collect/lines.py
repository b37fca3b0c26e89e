"""The file of recordings while they are still growing: finished lines first, the others behind.

Unlike ``EpisodeFile`` it keeps no finished line in memory and writes none again, so that it serves
for weeks. A process that is killed while it writes can leave its last line broken; the next one
cuts that off.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO


class Lines:
    """A ``.jsonl`` file whose last lines can still be replaced. One process at a time writes it.

    Args:
        path: The file, or a link to it, which stays one; lines that are there already stay. It
            and its folder are made at the first line.

    Attributes:
        path: The file itself.
        ids: Of the recordings that were there already, how often each.

    Raises:
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = path.resolve()
        self.ids: dict[str, int] = {}
        self._open: dict[str, bytes] = {}
        self._finished: dict[str, bytes] = {}
        self._end = self._read() if path.exists() else 0
        self._size = path.stat().st_size if path.exists() else 0
        self._changed = False

    def put(self, name: str, line: str) -> None:
        """Have a line of this recording, or another one; ``write`` brings it to the disk."""
        self._open[name] = line.encode("utf-8") + b"\n"
        self._changed = True

    def drop(self, name: str) -> None:
        """Have no line of this recording any more."""
        self._changed |= self._open.pop(name, None) is not None

    def finish(self, name: str) -> None:
        """The line of this recording stays as it is."""
        if (line := self._open.pop(name, None)) is not None:
            self._finished[name] = line
            self._changed = True

    def write(self) -> None:
        """Bring what has changed to the disk.

        Raises:
            OSError: It cannot be written; the next call tries again.
        """
        if not self._changed:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._look()
        done = b"".join(self._finished.values())
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.seek(self._end)
            file.write(done + b"".join(self._open.values()))
            file.truncate()
            self._size = file.tell()
        self._end += len(done)
        self._finished.clear()
        self._changed = False

    def _look(self) -> None:
        """Where somebody else has changed the file: all but our own lines are kept as finished."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._size:
            return
        self._end = 0
        if size:
            beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
            with self.path.open("rb") as file, beside.open("wb") as kept:
                kept.writelines(line for line in file if _id_of(line) not in self._open)
                self._end = kept.tell()
            beside.replace(self.path)

    def _read(self) -> int:
        """Learn the ids that are there, and where the next line goes."""
        end = 0
        with self.path.open("r+b") as file:
            for line in file:
                name = _id_of(line)
                if not line.endswith(b"\n") and name is None:
                    # Killed while it was written.
                    break
                end += len(line)
                if name is not None:
                    self.ids[name] = self.ids.get(name, 0) + 1
                if not line.endswith(b"\n"):
                    end += _close_line(file)
        return end


def _id_of(line: bytes) -> str | None:
    try:
        found = json.loads(line)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _close_line(file: IO[bytes]) -> int:
    """A last line without its end, as people write them, gets one."""
    file.seek(0, 2)
    return file.write(b"\n")
