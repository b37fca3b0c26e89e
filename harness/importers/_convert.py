"""Sources into recordings that may be written: valid, without secrets, with ids of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.files import MAX_BYTES
from harness.importers import joins, recordings
from harness.importers._base import Place, unique
from harness.importers._detect import Source, files_of
from harness.importers._intake import MOST_PROBLEMS, Intake
from harness.importers._lint_rules import Subject
from harness.importers._rawfacts import raw_facts
from harness.redact import Redactor
from harness.text import mended


@dataclass(frozen=True, slots=True)
class Item:
    """One recording.

    Attributes:
        subject: The recording, and what is known beside it.
        line: The recording as a line of JSON Lines.
        raw_line: Its id, place and source record as a line, where that is kept.
    """

    subject: Subject
    line: bytes
    raw_line: bytes | None


@dataclass(slots=True)
class Conversion:
    """Sources on their way to recordings.

    Attributes:
        sources: What to read, each with its importer.
        strict: Whether the first broken record ends it.
        keep_raw: Whether the source's own records are wanted.
        problems: What could not be read, a line each, the first ``MOST_PROBLEMS``.
        broken: How many records could not be read.
        done_bytes: How much has been read.
        total_bytes: How much there is.
    """

    sources: Sequence[Source]
    strict: bool = False
    keep_raw: bool = False
    problems: list[str] = field(default_factory=list)
    broken: int = 0
    done_bytes: int = 0
    total_bytes: int = 0

    def items(self) -> Iterator[Item]:
        """Each recording, as soon as it is read; nothing is kept of it.

        Raises:
            ImportFormatError: The import is strict and something is broken.
        """
        groups = _together(self.sources)
        sizes = [sum(_size(f) for s in group for f in files_of(s.path)) for group in groups]
        self.total_bytes = sum(sizes)
        seen: dict[str, int] = {}
        done = 0
        for group, size in zip(groups, sizes, strict=True):
            intake = Intake(strict=self.strict)
            for item in self._of(group, intake, seen):
                # Some files are read twice, and some of a folder not at all.
                self.done_bytes = done + min(intake.read_bytes, size)
                yield item
            self.broken += intake.broken
            self.problems += intake.problems[: MOST_PROBLEMS - len(self.problems)]
            done += size
            self.done_bytes = done

    def _of(self, group: Sequence[Source], intake: Intake, seen: dict[str, int]) -> Iterator[Item]:
        source, *more = group
        beside = [each.path for each in more]
        try:
            for recording in recordings(source.name, source.path, intake, beside=beside):
                place = intake.place or Place(source.path, f"recording {recording['id']}")
                try:
                    item = self._item(recording, intake.raw, place, source, seen)
                except ImportFormatError as error:
                    intake.note(error)
                    continue
                yield item
        except ImportFormatError as error:
            if self.strict:
                raise
            # Where everything was broken, the first is told once more.
            if error is not intake.first:
                intake.note(error)

    def _item(
        self, recording: dict[str, Any], raw: Any, place: Place, source: Source,
        seen: dict[str, int],
    ) -> Item:  # fmt: skip
        # One for each recording, so that its bytes do not depend on what else is imported.
        redactor = Redactor(numbered=True)
        try:
            clean = redactor.value(recording)
            removed = redactor.removed
            clean["id"] = unique(clean["id"], seen)
            line = _line(clean)
            raw_line = None
            if self.keep_raw:
                where = f"{place.path}: {place.spot}"
                kept = {"id": clean["id"], "place": where, "raw": redactor.value(raw)}
                raw_line = _line(kept)
        except RecursionError as error:
            raise place.error("nested too deeply") from error
        if len(line) > MAX_BYTES:
            raise place.error(f"becomes a scenario of {len(line)} bytes; at most {MAX_BYTES}")
        subject = Subject(clean, raw_facts(raw), source.name, removed)
        return Item(subject, line, raw_line)


def _together(sources: Sequence[Source]) -> list[list[Source]]:
    """Sources that are read at once: those of an importer of which a run may go over several."""
    groups: list[list[Source]] = []
    joint: dict[str, list[Source]] = {}
    for source in sources:
        if source.name in joint:
            joint[source.name].append(source)
            continue
        groups.append([source])
        if joins(source.name):
            joint[source.name] = groups[-1]
    return groups


def _size(file: Path) -> int:
    # What is not there is told by who reads it.
    return file.stat().st_size if file.is_file() else 0


def _line(value: Any) -> bytes:
    """A value as a line; what no JSON file can hold is replaced."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        return f"{mended(text)}\n".encode()


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinity: they become null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
