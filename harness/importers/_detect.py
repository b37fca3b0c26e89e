"""Which importer a file or folder is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import ImportFormatError
from harness.importers._base import shown
from harness.importers._head import Head, head_of
from harness.importers._hints import hint

#: A user writes this where the format is to be found out.
AUTO = "auto"
_SCENARIO = "harness/scenario@"


class Fitting(Protocol):
    """What is needed of an importer to choose it."""

    def fits(self, head: Head) -> bool:
        """Whether a file that begins like this is of its format."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read.

    Attributes:
        path: The file; a folder where its files make recordings only together.
        name: The importer it is for.
    """

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A file that no importer is for.

    Attributes:
        path: The file.
        reason: Why, in words.
        several: Because more than one knows it.
    """

    path: Path
    reason: str
    several: bool = False


def sources(path: Path, importers: Mapping[str, Fitting]) -> list[Source | Unknown]:
    """What ``path`` holds: itself if it is a file, else what lies in the folder and below.

    A folder is one source where all files that any importer knows are of one format, and that
    format's importer takes such folders. Hidden files and folders are passed over; links to folders
    are followed, but no folder is looked at twice.

    Raises:
        ImportFormatError: The path itself cannot be read.
    """
    return _sources(path, importers, set())


def _sources(
    path: Path, importers: Mapping[str, Fitting], seen: set[Path]
) -> list[Source | Unknown]:
    if not path.is_dir():
        return [_known(head_of(path), importers)]
    if (folder := path.resolve()) in seen:
        return [Unknown(path, "is a folder that was looked at already, by another path")]
    seen.add(folder)
    found: list[Source | Unknown] = []
    # Links last, so that what they lead to is known by its own path where it lies here too.
    for child in sorted(path.iterdir(), key=lambda child: (child.is_symlink(), child)):
        if child.name.startswith("."):
            continue
        if child.is_symlink() and not child.exists():
            found.append(Unknown(child, f"is a broken link to {child.readlink()}"))
            continue
        try:
            found += _sources(child, importers, seen)
        except ImportFormatError as error:
            found.append(Unknown(child, str(error).removeprefix(f"{child}: ")))
    names = _names(found)
    unknown = [one for one in found if isinstance(one, Unknown)]
    if len(names) == 1 and not any(one.several for one in unknown):
        (name,) = names
        if importers[name].fits(head_of(path)):
            return [Source(path, name), *unknown]
    return found


def _names(found: list[Source | Unknown]) -> set[str]:
    return {one.name for one in found if isinstance(one, Source)}


def detected(path: Path, importers: Mapping[str, Fitting]) -> str:
    """The one importer that all of ``path`` is for.

    Raises:
        ImportFormatError: There is none, or there are several; the message says what to do.
    """
    found = sources(path, importers)
    names = sorted(_names(found))
    unknown = [one for one in found if isinstance(one, Unknown)]
    if unclear := next((one for one in unknown if one.several), None):
        raise ImportFormatError(f"{unclear.path}: {unclear.reason}")
    if len(names) == 1:
        return names[0]
    if names:
        raise ImportFormatError(
            f"{path}: holds several formats ({', '.join(names)}); name a file of it"
        )
    many = f"none of its {len(unknown)} files is known" if unknown else "the folder is empty"
    reason = unknown[0].reason if len(unknown) == 1 and not path.is_dir() else many
    raise ImportFormatError(f"{path}: {reason}; {known_formats(importers)}")


def known_formats(importers: Mapping[str, Fitting]) -> str:
    """What would help somebody whose file no importer knows."""
    return (
        f"formats: {', '.join(importers)}; runs of your own can be brought as chat messages, see: "
        "harness docs importers"
    )


def _known(head: Head, importers: Mapping[str, Fitting]) -> Source | Unknown:
    names = [name for name, importer in importers.items() if importer.fits(head)]
    if len(names) == 1:
        return Source(head.path, names[0])
    if names:
        reason = f"could be of several formats; name one: {', '.join(names)}"
        return Unknown(head.path, reason, several=True)
    return Unknown(head.path, _why(head))


def _why(head: Head) -> str:
    """Why nothing can be made of a file, as far as its beginning tells."""
    if (known := hint(head)) is not None:
        return known
    match head.kind:
        case "empty":
            return "the file is empty"
        case "text":
            return "is text that no importer knows"
        case "binary" | "zip":
            what = "an archive" if head.kind == "zip" else "binary"
            return f"is {what} that no importer knows"
        case _:
            what = {"lines": "JSON Lines", "list": "a JSON list"}.get(head.kind, "a JSON document")
    schema = head.get("schema")
    if isinstance(schema, str) and schema.startswith(_SCENARIO):
        return "holds scenarios already; harness run takes it as it is"
    if not isinstance(head.first, dict):
        begins = "no record" if head.first is None else f"a record like {shown(head.first)}"
        return f"is {what} with {begins}, which no importer knows"
    keys = ", ".join(map(shown, list(head.first)[:8])) or "none"
    return f"is {what} that no importer knows; keys of its first record: {keys}"


def files_of(path: Path) -> Iterator[Path]:
    """The file itself, or all files below a folder."""
    if path.is_dir():
        yield from (inside for inside in sorted(path.rglob("*")) if inside.is_file())
    else:
        yield path
