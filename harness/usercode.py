"""Functions that users write, from a module or a file; what they raise, in one line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import HarnessError, choices


def load_file(path: Path, option: str) -> ModuleType:
    """A Python file as a module of its own.

    Args:
        path: The ``.py`` file.
        option: Where it was named, for messages.

    Raises:
        HarnessError: No such file, or what it raises while it is loaded.
    """
    if path.suffix != ".py" or not path.is_file():
        raise HarnessError(f"{option}: {path}: is no Python file (.py)")
    # Under a name of its own: a file `json.py` must not stand in for another module.
    spec = importlib.util.spec_from_file_location(f"harness_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise HarnessError(f"{option}: {path}: cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise HarnessError(f"{option}: {path}: {raised(error, path)}") from error
    return module


def load_function(name: str, option: str) -> Callable[..., Any]:
    """A function by ``module:name`` or ``file.py:name``.

    Raises:
        HarnessError: No such module or file, what it raises while it is loaded, or no such
            function in it.
    """
    place, _, wanted = name.rpartition(":")
    if not place or not wanted.isidentifier():
        raise HarnessError(f"{option}: must be module:name or file.py:name, found {name!r}")
    module = load_file(Path(place), option) if place.endswith(".py") else _module(place, option)
    found = getattr(module, wanted, None)
    if not callable(found):
        own = [key for key, value in vars(module).items() if _own(module, key, value)]
        raise HarnessError(f"{option}: {place} has no such function: {choices(wanted, own)}")
    function: Callable[..., Any] = found
    return function


def functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a module defines itself; names with an underscore are its own affair."""
    return {key: value for key, value in vars(module).items() if _own(module, key, value)}


def _own(module: ModuleType, name: str, value: object) -> bool:
    here = getattr(value, "__module__", None) == module.__name__
    return here and callable(value) and not isinstance(value, type) and not name.startswith("_")


def _module(name: str, option: str) -> ModuleType:
    """A module, also one of the working folder, as ``python -m`` would find it."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise HarnessError(f"{option}: {name}: {raised(error)}") from error


def raised(error: BaseException, file: Path | None = None) -> str:
    """What was raised in one line, with file and line.

    Args:
        error: It.
        file: The innermost place in this file is told; left out or not there: the innermost one.
    """
    words = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown(error.filename)}:{error.lineno}: {words}"
    frames = traceback.extract_tb(error.__traceback__)
    here = None if file is None else file.resolve()
    own = [frame for frame in frames if here is not None and Path(frame.filename) == here]
    if not frames:
        return words
    frame = (own or frames)[-1]
    return f"{shown(frame.filename)}:{frame.lineno}: {words}"


def shown(file: str | Path) -> str:
    """A file as people name it: from the working folder, where it lies below."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
