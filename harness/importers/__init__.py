"""Readers of foreign recordings, one format a file.

Every module here whose name does not start with ``_`` is an importer; a new format is a new
file and nothing else. Modules are loaded when somebody asks for one, not with the package.
Their constants say in words what a source can and cannot tell, because a figure made from
recordings is worth only as much as these answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from harness.errors import ImportFormatError, choices
from harness.exits import own_stop
from harness.importers._base import shown
from harness.importers._detect import AUTO, Source, Unknown, detected, sources
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._missing import Missing

__all__ = [
    "AUTO", "Head", "ImporterModule", "Intake", "Missing", "Source", "Unknown", "available",
    "detect", "get", "joins", "recordings", "sources_in",
]  # fmt: skip


class ImporterModule(Protocol):
    """The parts of an importer module.

    Attributes:
        NAME: What a user writes: ``harness import NAME FILE``.
        TITLE: The source, in a few words.
        LACKS: What the source does not record, or records only in part.
        TOKENS: The rule by which its token counts became ours.
        ITERATION: Where one iteration ends and the next begins.
        EXIT_REASON: Where the exit reason comes from: explicit, inferred or unknown.
    """

    NAME: str
    TITLE: str
    LACKS: tuple[str, ...]
    TOKENS: str
    ITERATION: str
    EXIT_REASON: str

    def fits(self, head: Head) -> bool:
        """Whether a file that begins like this is of this format; at most one importer says so.

        Of a folder: whether its files make recordings only together; ``read`` then reads every
        file below it that fits.
        """
        ...

    def read(self, path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
        """Yield one scenario (schema ``harness/scenario@1``) for each recording in ``path``.

        Keys whose value is unknown, or would be the schema's default, are left out. Reading is
        lazy. A record that is broken is noted (``Intake.record``) and the rest is read.

        Raises:
            ImportFormatError: The file cannot be read, is not of this format, or is empty; where
                the import is strict, also a broken record, after the recordings before it.
        """
        ...


_PARTS = (*ImporterModule.__annotations__, "fits", "read")


def available() -> dict[str, ImporterModule]:
    """All importers by the name a user writes (``tau-bench``), in alphabetical order.

    Raises:
        ImportFormatError: A module of this package lacks a part every importer has.
    """
    found: dict[str, ImporterModule] = {}
    for info in iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{info.name}")
        if missing := [part for part in _PARTS if not hasattr(module, part)]:
            raise ImportFormatError(
                f"importer module {info.name!r} must define {', '.join(_PARTS)}; "
                f"missing: {', '.join(missing)}"
            )
        found[module.NAME] = cast("ImporterModule", module)
    return dict(sorted(found.items()))


def get(name: str) -> ImporterModule:
    """The importer called ``name``.

    Raises:
        ImportFormatError: No importer has that name; the message lists those there are.
    """
    importers = available()
    if name not in importers:
        raise ImportFormatError(f"unknown import format: {choices(name, importers)}")
    return importers[name]


def detect(path: Path) -> str:
    """The importer that a file is for, or all that any importer knows in a folder.

    Raises:
        ImportFormatError: None knows it, several do, or a folder holds several formats.
    """
    return detected(path, available())


def sources_in(path: Path) -> list[Source | Unknown]:
    """What a file or folder holds, each with the importer it is for or why there is none.

    Raises:
        ImportFormatError: The path itself cannot be read.
    """
    return sources(path, available())


def joins(name: str) -> bool:
    """Whether one recording of an importer may be spread over several paths (``read_all``)."""
    return hasattr(get(name), "read_all")


def recordings(
    name: str, path: Path, intake: Intake | None = None, *, beside: Sequence[Path] = ()
) -> Iterator[dict[str, Any]]:
    """Read ``path`` with the importer called ``name``, one valid scenario after another.

    Args:
        name: Of the importer.
        path: File or folder.
        beside: Further ones to read with it, for an importer that ``joins`` them.
        intake: Learns what is lost; left out: the first broken record ends the import.

    Raises:
        ImportFormatError: As ``get`` and ``ImporterModule.read``; also where what was read is no
            scenario, and the message names the recording, the key and the value. Where every
            record was broken, the first one's error.
    """
    intake = intake or Intake(strict=True)
    found, before = 0, intake.broken
    importer: Any = get(name)
    whole = (path, *beside)
    read = importer.read_all(whole, intake) if beside else importer.read(path, intake)
    for recording in read:
        _leave_open(recording)
        if (error := _problem(path, recording)) is not None:
            intake.note(error)
            continue
        found += 1
        yield recording
    if not found and intake.first is not None and intake.broken > before:
        raise intake.first


def _leave_open(recording: dict[str, Any]) -> None:
    """Keep a replay from guessing the end that the importer, who saw the source, could not tell.

    A last turn without calls looks like the agent's own end, which an interrupted one has, too.
    """
    recorded, steps = recording.get("recorded", {}), recording.get("steps")
    if "exit_reason" in recorded or not steps or steps[-1].get("calls"):
        return
    reply = steps[-1].get("reply", {})
    tools = recording.get("tools") or any(step.get("calls") for step in steps)
    if tools and "error" not in reply and own_stop(reply.get("finish_reason")):
        recording["recorded"] = {**recorded, "exit_reason_source": "unknown"}


def _problem(path: Path, recording: dict[str, Any]) -> ImportFormatError | None:
    """Why a recording is no scenario."""
    from pydantic import ValidationError

    from harness.scenario import Scenario
    from harness.validation import problem

    try:
        Scenario.model_validate(recording)
    except ValidationError as error:
        name = shown(recording.get("id"))
        return ImportFormatError(f"{path}: recording {name}: scenario{problem(error)}")
    return None
