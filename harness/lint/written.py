"""Which file of a preset's inheritance writes a key, and on which line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.preset import bundled

_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
#: The key of a guard's threshold; some kinds have further names for it.
THRESHOLD = "threshold"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key is written; ``inherited`` names the bundled preset that it comes from."""

    file: str | None = None
    line: int | None = None
    inherited: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    own: bool
    data: dict[str, Any]
    lines: list[str]


class Written:
    """The files of a preset, from the root of its inheritance down.

    Args:
        name: Of a preset that loads; ``""`` for one that no file holds.
    """

    def __init__(self, name: str = "") -> None:
        self._files: list[_File] = []
        own = name.endswith(".toml")
        while name:
            path = Path(name) if name.endswith(".toml") else bundled()[name]
            if name.endswith(".toml") and self._files and not path.is_absolute():
                path = self._files[0].path.parent / path
            text = path.read_text("utf-8")
            data = tomllib.loads(text)
            mine = own and name.endswith(".toml")
            self._files.insert(0, _File(path, mine, data, text.splitlines()))
            name = data.get("extends", "")
        # A bundled preset that is linted itself is read where it lies.
        self._own = own

    def says(self, *key: str) -> Any:
        """What the last file that writes the key says; ``None`` if none does."""
        found = self._find(key)
        return None if found is None else _at(found.data, key)

    def threshold(self, name: str, aliases: Iterable[str]) -> Place:
        """Where a guard's threshold is written: as a bare number, or under one of its names."""
        for file in reversed(self._files):
            value = _at(file.data, ("guards", name))
            if isinstance(value, dict):
                for key in (THRESHOLD, *aliases):
                    if key in value:
                        return self._place(file, ("guards", name, key))
            elif value is not None:
                return self._place(file, ("guards", name))
        return self.place("guards", name)

    def place(self, *key: str) -> Place:
        """Where the key is written; where it is not, the nearest key around it."""
        for size in range(len(key), 0, -1):
            file = self._find(key[:size])
            if file is not None:
                break
        else:
            return self._somewhere()
        return self._place(file, key[:size])

    def _place(self, file: _File, key: tuple[str, ...]) -> Place:
        if self._own and not file.own:
            # Nobody wrote it but the harness: the place to mend it is where it is extended.
            child = next(one for one in self._files if one.own)
            return Place(str(child.path), _line(child.lines, ("extends",)), file.path.stem)
        return Place(str(file.path), _line(file.lines, key))

    def _somewhere(self) -> Place:
        return Place(str(self._files[-1].path), 1) if self._files else Place()

    def _find(self, key: tuple[str, ...]) -> _File | None:
        holding = [file for file in self._files if _at(file.data, key) is not None]
        return holding[-1] if holding else None


def _at(data: Any, key: tuple[str, ...]) -> Any:
    for part in key:
        if not isinstance(data, dict) or part not in data:
            return None
        data = data[part]
    return data


def _line(lines: list[str], key: tuple[str, ...]) -> int | None:
    """The line of a key, or of the nearest key around it: a simple search is enough."""
    for size in range(len(key), 0, -1):
        found = _exact(lines, list(key[:size]))
        if found is not None:
            return found
    return None


def _exact(lines: list[str], key: list[str]) -> int | None:
    table: list[str] = []
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            table = _parts(header[1])
            if table[: len(key)] == key:
                return number
        elif "=" in line and [*table, *_parts(line.partition("=")[0])][: len(key)] == key:
            return number
    return None


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
