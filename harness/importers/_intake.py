"""One import under way: what it could not read, how far it is, and the record at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place

#: Problems that are kept in words; more are only counted.
MOST_PROBLEMS = 1000


@dataclass(slots=True)
class Intake:
    """What readers tell while they read.

    Attributes:
        strict: Whether the first broken record ends the import.
        problems: What could not be read, a line each, the first ``MOST_PROBLEMS``.
        broken: How many records could not be read.
        read_bytes: How much of the files was read, as they are on the disk.
        total_bytes: How much there is; grows as files of a folder are opened.
        raw: The source's own record from which the recording at hand was made.
        place: Where that record is.
    """

    strict: bool = False
    problems: list[str] = field(default_factory=list)
    broken: int = 0
    read_bytes: int = 0
    total_bytes: int = 0
    raw: Any = None
    place: Place | None = None
    first: ImportFormatError | None = None

    def note(self, error: ImportFormatError) -> None:
        """Lose one record.

        Args:
            error: Says which and why.

        Raises:
            ImportFormatError: The import is strict.
        """
        if self.strict:
            raise error
        self.first = self.first or error
        self.broken += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(str(error))

    @contextmanager
    def record(self, place: Place, raw: Any = None) -> Iterator[None]:
        """Read one record of the source, or one file of a folder; if broken, only it is lost.

        A reader yields the recording inside, so that ``raw`` and ``place`` are its own::

            for place, record in json_lines(path, intake):
                with intake.record(place, record):
                    yield recording_from(place, record)

        Args:
            place: Where the record is.
            raw: The record as the source has it, as JSON-like data; where it is known only inside,
                the reader sets ``intake.raw`` there.

        Raises:
            ImportFormatError: The record is broken and the import is strict.
        """
        self.place, self.raw = place, raw
        try:
            yield
        except ImportFormatError as error:
            self.note(error)
        finally:
            self.place = self.raw = None
