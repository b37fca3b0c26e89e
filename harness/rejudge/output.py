"""The file that judged recordings go into, and the notes by which broken-off work is gone on with.

A recording is written whole, once all of it is judged. Until then each judgement stands in the
notes (``OUT.jsonl.judging``), written as it is made; they go when each of them stands in the file
and none is a failure. A recording that is judged again keeps its place, and whatever else stands
in the file stays: it may belong to inputs that are not given this time. What a killed process
leaves of a last line is cut off. One process writes a file at a time.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import HarnessError
from harness.filelocks import alone as held_alone
from harness.files import Raw, parse
from harness.rejudge.spots import Judgement, bare
from harness.scenario import Scenario


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a file, so that nobody else judges into it: two would cut off each other's lines.

    Raises:
        HarnessError: Somebody else does.
        OSError: The file of the lock cannot be made.
    """
    taken = (
        f"rejudge: --output: {path} is being written by another rejudge; wait for it, or choose "
        "another file"
    )
    with held_alone(path, f"{path.resolve().name}.lock", taken):
        yield


class Output:
    """Where judged recordings go.

    Args:
        path: The ``.jsonl`` file.
        about: What makes the judge's judgements its own.
        resume: Go on with what is there.
        force: Write over what is there.

    Raises:
        HarnessError: It is there already, or it is not and is to be gone on with, or another
            judge began it.
    """

    def __init__(
        self, path: Path, about: Mapping[str, Any], *, resume: bool = False, force: bool = False
    ) -> None:
        self.path = path
        self._notes_path = path.with_name(path.name + ".judging")
        self._about = dict(about)
        self._lock = threading.Lock()
        self._places: dict[str, tuple[int, int]] = {}
        self._known: dict[str, Judgement] = {}
        self._failed: set[str] = set()
        #: Keys that failed once and were judged later, and those whose judgement gets written now.
        self._mended: set[str] = set()
        self._used: set[str] = set()
        #: Ids of recordings that notes are about, and of those that the file holds.
        self._noted: set[str] = set()
        self._written: set[str] = set()
        #: New lines of recordings that stand in the file, by id, until it is closed.
        self._anew: dict[str, bytes] = {}
        self._length = self._notes_length = 0
        self._file: BinaryIO | None = None
        self._notes: BinaryIO | None = None
        there = path.exists() or self._notes_path.exists()
        if resume and not there:
            raise HarnessError(f"rejudge: --resume: {path} does not exist; leave out --resume")
        if there and not (resume or force):
            raise HarnessError(
                f"rejudge: {path} exists; --resume goes on with it, --force writes over it"
            )
        if resume:
            self._read_file()
            self._read_notes()

    def finished(self, scenario: Scenario) -> Scenario | None:
        """The recording as it stands in the file, judged; ``None`` where it does not.

        Raises:
            HarnessError: Another recording stands there under the same id.
        """
        place = self._places.get(scenario.id)
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place[0])
            (found,) = parse(Raw(str(self.path), 1, file.read(place[1]).decode("utf-8")))
        if bare(found) != bare(scenario):
            raise HarnessError(
                f"rejudge: --resume: {self.path} holds another recording with id {scenario.id!r}; "
                "choose another file"
            )
        return found

    def known(self, key: str) -> Judgement | None:
        """A judgement that was made before the work was broken off; a failed one is none."""
        return self._known.get(key)

    def reuse(self, key: str) -> Judgement | None:
        """The same, to be written now."""
        with self._lock:
            self._used.add(key)
        return self._known.get(key)

    def failed(self, key: str) -> bool:
        """Whether judging came to nothing the last time."""
        return key in self._failed

    def unsettled(self, key: str) -> bool:
        """Whether it failed the last time, or before that and may be missing in the file."""
        return key in self._failed or key in self._mended

    @property
    def failures(self) -> bool:
        """Whether anything is unsettled."""
        return bool(self._failed or self._mended)

    def begin(self) -> None:
        """Open the file and the notes; nothing is written before."""
        self._file = _opened(self.path, self._length)
        self._notes = _opened(self._notes_path, self._notes_length)
        if not self._notes_length:
            self._put(self._notes, {"about": self._about})

    def note(self, key: str, judgement: Judgement, recording: str) -> None:
        """Keep a judgement until its recording is written.

        Args:
            key: Of the judgement.
            judgement: A failure is noted, too.
            recording: Id of the recording it belongs to.
        """
        with self._lock:
            self._noted.add(recording)
            self._last_word(key, judgement)
            self._put(self._notes, {"key": key, "of": recording, "keys": dict(judgement.keys),
                                    "error": judgement.error})  # fmt: skip

    def write(self, data: Mapping[str, Any]) -> None:
        """Write one recording, whole and to the disk; one that is there already when closing."""
        if data["id"] in self._places:
            self._anew[data["id"]] = _line(data)
            return
        self._put(self._file, data)
        self._written.add(data["id"])
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self, *, complete: bool) -> None:
        """Close both; the notes go where everything is done and nothing in them is open.

        Args:
            complete: Everything that was asked for is done.
        """
        for file in (self._file, self._notes):
            if file is not None:
                file.close()
        if self._anew:
            self._replace()
        waiting = self._failed | (self._mended - self._used) | (self._noted - self._written)
        if complete and not waiting:
            self._notes_path.unlink(missing_ok=True)

    def _replace(self) -> None:
        """The file with recordings that were judged again, each in its place; swapped at once."""
        at = {place[0]: name for name, place in self._places.items()}
        real = self.path.resolve()
        part = real.with_name(f".{real.name}.part")
        try:
            with real.open("rb") as old, part.open("wb") as new:
                start = 0
                for line in old:
                    new.write(self._anew.get(at.get(start, ""), line))
                    start += len(line)
                new.flush()
                os.fsync(new.fileno())
            part.chmod(real.stat().st_mode)
            part.replace(real)
        finally:
            part.unlink(missing_ok=True)

    @staticmethod
    def _put(file: BinaryIO | None, data: Mapping[str, Any]) -> None:
        if file is None:
            raise HarnessError("rejudge: the file is not open")
        file.write(_line(data))
        file.flush()

    def _read_file(self) -> None:
        for at, line in _whole_lines(self.path):
            (found,) = parse(Raw(str(self.path), 1, line.decode("utf-8")))
            self._places[found.id] = (at, len(line))
            self._written.add(found.id)
            self._length = at + len(line)

    def _read_notes(self) -> None:
        for at, line in _whole_lines(self._notes_path):
            data = json.loads(line)
            self._notes_length = at + len(line)
            if "about" in data:
                if data["about"] != self._about:
                    raise HarnessError(
                        f"rejudge: --resume: {self.path} was begun by {data['about']}, this is "
                        f"{self._about}; choose another file, or judge all anew with --force"
                    )
                continue
            if "of" in data:
                self._noted.add(data["of"])
            judgement = Judgement(data["keys"], data["error"])
            if judgement.error is None:
                self._known[data["key"]] = judgement
            self._last_word(data["key"], judgement)

    def _last_word(self, key: str, judgement: Judgement) -> None:
        """The last word on a key counts."""
        if judgement.error is not None:
            self._failed.add(key)
        elif key in self._failed:
            self._failed.remove(key)
            self._mended.add(key)


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _whole_lines(path: Path) -> list[tuple[int, bytes]]:
    """The lines of a file that were written to their end, with where they begin."""
    if not path.exists():
        return []
    found, at = [], 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                found.append((at, line))
            at += len(line)
    return found


def _opened(path: Path, length: int) -> BinaryIO:
    """A file to add to, cut off after what is whole."""
    file = path.open("r+b" if path.exists() else "w+b")
    file.truncate(length)
    file.seek(length)
    return file
