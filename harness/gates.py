"""Phase gates: code that looks at facts, and outranks every model.

A phase is done when its checks hold. ``script`` and ``user_confirmation`` checks are settled when
their phase is advanced; file checks are looked at again at the end.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Protocol

from harness.task import Check, ConfirmationCheck, FileCheck, GlobCheck, Phase, ScriptCheck
from harness.trace import Call, CheckResult, Turn


class Workspace(Protocol):
    """Where the files are: the third small door."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        ...

    def count(self, pattern: str) -> int:
        """How many files match a glob."""
        ...


class ScriptedWorkspace:
    """Files as a recording lists them; an entry may be ``path@hash``."""

    def __init__(self) -> None:
        self._paths: frozenset[str] = frozenset()

    def update(self, writes: Iterable[str]) -> None:
        """The files changed so far."""
        self._paths = frozenset(_normal(entry.rsplit("@", 1)[0]) for entry in writes)

    def exists(self, path: str) -> bool:
        """Whether the recording lists the file, or one below the folder."""
        wanted = _normal(path)
        return any(p == wanted or p.startswith(wanted + "/") for p in self._paths)

    def count(self, pattern: str) -> int:
        """How many listed files match."""
        wanted = _normal(pattern)
        return sum(_matches(path, wanted) for path in self._paths)


class RealWorkspace:
    """Files under a folder; absolute paths are taken as given.

    Args:
        root: The folder that relative paths start from.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    def exists(self, path: str) -> bool:
        """Whether it is on the disk."""
        return (self._root / path).exists()

    def count(self, pattern: str) -> int:
        """How many files on the disk match."""
        if Path(pattern).is_absolute():
            root = Path(Path(pattern).anchor)
            return sum(p.is_file() for p in root.glob(str(Path(pattern).relative_to(root))))
        return sum(p.is_file() for p in self._root.glob(pattern))


def _normal(path: str) -> str:
    return str(PurePosixPath(path.strip()))


def _matches(path: str, pattern: str) -> bool:
    """Glob by parts: ``*`` stays within a folder, ``**`` crosses folders."""
    return _parts_match(PurePosixPath(path).parts, PurePosixPath(pattern).parts)


def _parts_match(path: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_parts_match(path[at:], pattern[1:]) for at in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _parts_match(path[1:], pattern[1:])


_SEPARATOR = re.compile(r"(&&|\|\||;|\||\n)")
#: A command that a result shows: the trace of ``set -x``, or a prompt.
_SHOWN = re.compile(r"^\s*[$+]+ (.+)$", re.MULTILINE)
_QUOTES = str.maketrans("", "", "\"'`")


@cache
def _terminal() -> tuple[re.Pattern[str], frozenset[str], frozenset[str]]:
    """Names of terminal-like tools, programs that only look, programs that run others."""
    data = tomllib.loads(files("harness.data").joinpath("terminal.toml").read_text("utf-8"))
    return re.compile(data["tools"]), frozenset(data["lookers"]), frozenset(data["runners"])


def runs_script(call: Call, command: str) -> bool:
    """Whether a call ran ``command`` and it succeeded.

    Quotes are dropped, white space is collapsed and a path is reduced to its name; looked for in
    the tool's name, in the arguments, and in the commands that a result shows after a prompt
    (``$`` or ``+``), where the call did not only look. Exit code 0 is needed; a call that gives
    none has failed to show it, and one that hides a failure (``check.sh || true``) too.
    """
    if not call.ok or call.exit_code != 0:
        return False
    wanted = _words(command)
    if not wanted:
        return False
    if _words(call.tool) == wanted:
        return True
    if not _terminal()[0].search(call.tool):
        return False
    commands = _strings(json.loads(call.args))
    if any(_runs(part, wanted) for text in commands for part in _parts(text)):
        return True
    acts = any(part[:1] and part[0] not in _terminal()[1] for c in commands for part in _parts(c))
    shown = _SHOWN.findall(call.result or "") if acts else ()
    return any(_runs(part, wanted) for text in shown for part in _parts(text))


def _parts(text: str) -> list[list[str]]:
    """The commands of a line as words; not those beside ``||``, whose exit code says nothing."""
    pieces = _SEPARATOR.split(text)
    signs = ["", *pieces[1::2], ""]
    found = []
    for at, part in enumerate(pieces[::2]):
        following = pieces[2 * at + 2].split()[:1] if 2 * at + 2 < len(pieces) else []
        masked = signs[at + 1] == "||" and following not in (["exit"], ["false"])
        if signs[at] != "||" and not masked:
            found.append(_words(part))
    return found


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        parts = [text for item in value for text in _strings(item)]
        # A command may come as a list of words.
        return [*parts, " ".join(parts)] if all(isinstance(v, str) for v in value) else parts
    return []


def _words(text: str) -> list[str]:
    words = text.translate(_QUOTES).split()
    return [word.rsplit("/", 1)[-1] if "/" in word else word for word in words]


def _runs(words: list[str], wanted: list[str]) -> bool:
    """Whether the command line runs the wanted one: it stands there, and nothing only looks."""
    while words and ("=" in words[0] and not words[0].startswith("-")):
        words = words[1:]
    if not words or words[0] in _terminal()[1]:
        return False
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted:
            before = words[:at]
            return all(w in _terminal()[2] or w.startswith("-") or w.isdigit() for w in before)
    return False


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate found when it was asked.

    Attributes:
        results: Every check that was looked at.
        missing: Names of those that do not hold, with what is missing.
    """

    results: tuple[CheckResult, ...]
    missing: tuple[str, ...]


class PhaseGate:
    """The phases of a task and which of them is being worked on.

    Args:
        phases: In order; without any nothing is ever open.
        workspace: Where the files are.
    """

    def __init__(self, phases: Sequence[Phase], workspace: Workspace) -> None:
        self._phases = list(phases)
        self._workspace = workspace
        self._at = 0
        self._settled: set[tuple[str, str]] = set()
        self._confirmed: set[tuple[str, str]] = set()
        self._ran: dict[str, set[tuple[str, str]]] = {"iteration": set(), "phase": set(),
                                                      "episode": set()}  # fmt: skip

    @property
    def phase(self) -> str | None:
        """Id of the phase being worked on."""
        return self._phases[self._at].id if self._phases else None

    @property
    def has_phases(self) -> bool:
        """Whether the task has phases at all."""
        return bool(self._phases)

    @property
    def on_last(self) -> bool:
        """Whether the phase being worked on is the last one."""
        return self._at >= len(self._phases) - 1

    def observe(self, turn: Turn) -> None:
        """Take in what an iteration did: scripts run, files written, confirmations given."""
        if not self._phases:
            return
        if turn.writes is not None and isinstance(self._workspace, ScriptedWorkspace):
            self._workspace.update(turn.writes)
        self._confirmed.update(turn.confirms)
        now = {
            (phase.id, check.id)
            for phase in self._phases
            for check in phase.checks
            if isinstance(check, ScriptCheck)
            and any(runs_script(call, check.command) for call in turn.calls)
        }
        self._ran["iteration"] = now
        self._ran["phase"] |= now
        self._ran["episode"] |= now

    def look(self) -> Gate:
        """Look at the checks of the phase being worked on."""
        return self._look(self._phases[self._at : self._at + 1])

    def look_at_all(self) -> Gate:
        """Look at every check of every phase; what was settled stays settled."""
        return self._look(self._phases)

    def open_checks(self) -> tuple[str, ...]:
        """What is still missing anywhere, in words; empty when everything holds."""
        return self.look_at_all().missing

    def advance(self) -> None:
        """The phase is done: settle its checks, go on with the next."""
        phase = self._phases[self._at]
        self._settled |= {
            (phase.id, c.id) for c in phase.checks if isinstance(c, ScriptCheck | ConfirmationCheck)
        }
        if not self.on_last:
            self._at += 1
            self._ran["phase"] = set()

    def _look(self, phases: Sequence[Phase]) -> Gate:
        results, missing = [], []
        for phase in phases:
            for check in phase.checks:
                passed, detail = self._holds(phase.id, check)
                results.append(CheckResult(phase.id, check.id, check.kind, passed, detail))
                if not passed:
                    missing.append(f"{phase.id}/{check.id}: {detail}")
        return Gate(tuple(results), tuple(missing))

    def _holds(self, phase: str, check: Check) -> tuple[bool, str]:
        key = (phase, check.id)
        if isinstance(check, FileCheck):
            return self._workspace.exists(check.path), f"file {check.path}"
        if isinstance(check, GlobCheck):
            found = self._workspace.count(check.pattern)
            return found >= check.min, f"{found} of {check.min} files {check.pattern}"
        if key in self._settled:
            return True, "settled when its phase was advanced"
        if isinstance(check, ScriptCheck):
            return key in self._ran[check.scope], (
                f"a successful run of {check.command} in this {check.scope}"
            )
        return key in self._confirmed, "a confirmation by the user"
