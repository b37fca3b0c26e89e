"""Presets by the names that expectations use."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import PresetError, choices
from harness.preset import Preset, bundled, load_preset


class Presets:
    """Finds a preset by name: in the paths that are set, then among the bundled ones.

    Args:
        paths: ``.toml`` files, and folders of them.
    """

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._loaded: dict[str, Preset] = {}

    def get(self, name: str) -> Preset:
        """The preset of this name.

        Raises:
            PresetError: None has it, two files have it, or its file breaks a rule.
        """
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = load_preset(self._source(name))
        return found

    def _source(self, name: str) -> str:
        files = self._files()
        named = [path for path in files if path.stem == name]
        if len(named) > 1:
            raise PresetError(f"preset {name!r}: two files have it: {named[0]} and {named[1]}")
        if named:
            return str(named[0])
        if name not in bundled():
            names = {*bundled(), *(path.stem for path in files)}
            where = ", ".join(_short(path) for path in self._paths) or "nowhere"
            raise PresetError(
                f"preset: {choices(name, names)}; or a file {name}.toml in {where} (setting "
                "harness_preset_paths)"
            )
        return name

    def _files(self) -> list[Path]:
        found: dict[Path, None] = {}
        for path in self._paths:
            if path.is_dir():
                found.update(dict.fromkeys(sorted(path.glob("*.toml"))))
            elif path.is_file():
                found[path] = None
        return list(found)


def _short(path: Path) -> str:
    """A path as a person in the working folder would write it."""
    shown = os.path.relpath(path)
    return str(path) if shown.startswith("..") else shown
