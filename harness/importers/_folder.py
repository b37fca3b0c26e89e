"""The files of a folder that are read together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.errors import ImportFormatError
from harness.importers._head import Head, head_of

_ENDINGS = (".json", ".jsonl", ".ndjson")


def has_json(head: Head) -> bool:
    """Whether a folder holds a JSON file at all."""
    return head.kind == "folder" and any(map(_is_json, head.names))


def files_of(path: Path, fits: Callable[[Head], bool], what: str) -> list[Path]:
    """The file itself, or all JSON files below a folder that are of a format.

    Args:
        path: File or folder.
        fits: Whether a file is of the format.
        what: The format in words.

    Raises:
        ImportFormatError: The folder holds none.
    """
    if not path.is_dir():
        return [path]
    named = (inside for inside in sorted(path.rglob("*")) if inside.is_file())
    found = [file for file in named if _is_json(file.name) and fits(head_of(file))]
    if not found:
        raise ImportFormatError(
            f"{path}: the folder holds no file of {what} ({', '.join(_ENDINGS)}, also with .gz)"
        )
    return found


def _is_json(name: str) -> bool:
    return name.removesuffix(".gz").endswith(_ENDINGS)
