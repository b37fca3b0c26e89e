"""What a guard touches beside its history: state that outlives a question, and forbidden doors."""

from __future__ import annotations

import copy
import gc
import inspect
import sys
from collections import deque
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from harness.guards import Guard
from harness.history import History

#: Modules whose functions ask the machine: time, chance, files, processes, the net.
_DOORS = frozenset({
    "time", "_random", "random", "secrets", "_io", "io", "posix", "nt", "os", "_socket", "socket",
    "_posixsubprocess", "select", "uuid", "_uuid",
})  # fmt: skip
#: Methods of the type `datetime` that read the clock.
_CLOCKS = frozenset({"datetime.now", "datetime.utcnow", "datetime.today", "date.today"})
#: Builtins whose value differs from one process to the next.
_FLEETING = frozenset({"id", "hash"})
_PLAIN = (dict, list, set, bytearray, deque, int, float, str, bool, type(None))


def state(guard: Guard) -> dict[str, str]:
    """Plain values that a question could change, by where they live.

    Class attributes, and the globals and closures that the guard's own functions use. A change
    here is state that the next episode would inherit. As text, because NaN equals nothing.
    """
    found: dict[str, str] = {}
    seen: set[FunctionType] = set()
    for cls in type(guard).__mro__:
        if cls in Guard.__mro__:
            continue
        for name, value in vars(cls).items():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(function, FunctionType):
                _note(function, cls.__module__, found, seen)
            elif isinstance(value, _PLAIN) and not name.startswith("__"):
                found[f"{cls.__name__}.{name}"] = repr(value)
    return found


def _note(
    function: FunctionType, module: str, found: dict[str, str], seen: set[FunctionType]
) -> None:
    """What a function of the guard's module uses, and the functions of the module it calls."""
    if function in seen or function.__module__ != module:
        return
    seen.add(function)
    used = inspect.getclosurevars(function)
    for name, value in ({**used.globals, **used.nonlocals}).items():
        if isinstance(value, FunctionType):
            _note(value, module, found, seen)
        elif isinstance(value, _PLAIN):
            found[name] = repr(value)


def facts(history: History) -> dict[str, Any]:
    """What a history holds that no question may change; what it works out lazily is left out."""
    return {
        name: copy.copy(value)
        for name, value in vars(history).items()
        if not name.startswith("_") and name != "memo"
    }


def doors_used(guard: Guard, questions: Callable[[], object]) -> set[str]:
    """Functions that read clock, chance or the machine while ``questions`` are asked.

    Seen through the interpreter's profiling hook, so nothing is replaced and nothing is missed
    that Python code calls. Ask once before, so that late imports have been done.
    """
    own = type(guard).signal.__code__.co_filename
    found: set[str] = set()

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call":
            return
        module, name = getattr(called, "__module__", None), getattr(called, "__qualname__", "")
        if module is None:
            # A method of an object: its type says where it comes from.
            module = type(getattr(called, "__self__", None)).__module__
        fleeting = module == "builtins" and name in _FLEETING and frame.f_code.co_filename == own
        if module in _DOORS or name in _CLOCKS or fleeting:
            found.add(f"{name if module in (None, 'builtins') else f'{module}.{name}'}()")

    before, collecting = sys.getprofile(), gc.isenabled()
    # Callbacks of the garbage collector, which others may have set, are not the guard's doing.
    gc.disable()
    sys.setprofile(watch)
    try:
        questions()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    return found
