"""Linting presets: which ones, on what data, and how findings are shown."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from harness import github
from harness.cli import terminal
from harness.errors import HarnessError, PresetError, choices
from harness.files import bundled_scenarios
from harness.lint import RULES, Finding, lint_preset
from harness.lint.measured import is_budget, measure, openings
from harness.lint.written import Written
from harness.preset import DEFAULTS, Preset, bundled, load_preset
from harness.scenario import Scenario

_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}
_LEVELS: dict[str, github.Level] = {"error": "error", "warning": "warning", "note": "notice"}


def lint(
    names: list[str], *, every: bool, ignore: list[str], scenarios: list[str], as_json: bool
) -> bool:
    """Look at presets and show what was found.

    Returns:
        Whether there is an error or a warning.

    Raises:
        HarnessError: An unknown rule, or nothing to look at; or, after everything else has been
            shown, the last preset that cannot be judged.
    """
    codes = [rule.code for rule in RULES]
    for code in ignore:
        if code not in codes:
            raise HarnessError(f"lint: --ignore: {choices(code, codes)}")
    chosen = _chosen([*names, *bundled()] if every else names or list(DEFAULTS))
    presets, problems = _loaded(chosen)
    data = _data(presets.values(), scenarios)
    findings = [
        found
        for name, preset in presets.items()
        for found in lint_preset(
            preset, Written(name), measure(preset, data, only_budgets=not scenarios), ignore
        )
    ]
    for found in findings:
        _show(found, as_json)
    _sum_up(findings, len(presets), as_json)
    if problems:
        for problem in problems[:-1]:
            terminal.err().print(terminal.plain(f"harness: {problem}"))
        raise HarnessError(problems[-1])
    return any(found.severity != "note" for found in findings)


def _chosen(given: list[str]) -> list[str]:
    """Names and files, each once; a folder stands for the preset files in it."""
    names: dict[str, None] = {}
    for name in given:
        folder = Path(name)
        if name.endswith(".toml") or not folder.is_dir() or name in bundled():
            names[name] = None
            continue
        inside = [str(path) for path in sorted(folder.rglob("*.toml")) if _is_preset(path)]
        if not inside:
            raise HarnessError(f"lint: {name}: holds no preset files (.toml)")
        names.update(dict.fromkeys(inside))
    return list(names)


def _is_preset(path: Path) -> bool:
    """Whether a file in a folder is meant as a preset; one that is broken may be."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return True
    return "schema" in data or "guards" in data


def _loaded(names: Sequence[str]) -> tuple[dict[str, Preset], list[str]]:
    presets: dict[str, Preset] = {}
    problems: list[str] = []
    for name in names:
        try:
            presets[name] = load_preset(name)
        except PresetError as error:
            problems.append(str(error))
    return presets, problems


def _data(presets: Iterable[Preset], scenarios: list[str]) -> list[Scenario]:
    """First steps of scenarios; the bundled ones only where there is a budget to measure."""
    if not scenarios:
        budgets = any(is_budget(guard) for one in presets for guard in one.guards.values())
        return openings([bundled_scenarios()]) if budgets else []
    found = openings(scenarios)
    if not found:
        raise HarnessError(f"lint: --scenarios: none found in {', '.join(scenarios)}")
    return found


def _show(found: Finding, as_json: bool) -> None:
    if as_json:
        terminal.json_line({"type": "finding", **asdict(found)})
    else:
        about = "" if _names(found) else f"{found.preset}: "
        grade = "" if found.severity == "error" else f" ({found.severity})"
        # One line a finding, however long: people and scripts search in it.
        terminal.out().print(
            f"{terminal.plain(_where(found))}: [{_STYLES[found.severity]}]{found.code}[/]: "
            f"{terminal.plain(about + found.message)}{grade}",
            soft_wrap=True,
        )
    if github.running_there():
        file = None if found.file is None or _is_bundled(found.file) else found.file
        sys.stderr.write(
            github.annotation(
                _LEVELS[found.severity], f"{found.preset}: {found.message}",
                title=f"harness lint: {found.code}", file=file, line=found.line,
            ) + "\n"
        )  # fmt: skip


def _is_bundled(file: str) -> bool:
    return Path(file) in bundled().values()


def _names(found: Finding) -> bool:
    return found.file is not None and Path(found.file).stem == found.preset


def _where(found: Finding) -> str:
    if found.file is None:
        return found.preset
    file = Path(found.file).name if _is_bundled(found.file) else found.file
    return file if found.line is None else f"{file}:{found.line}"


def _sum_up(findings: Sequence[Finding], presets: int, as_json: bool) -> None:
    counts: Counter[str] = Counter(found.severity for found in findings)
    if as_json:
        terminal.json_line({
            "type": "summary", "presets": presets, "errors": counts["error"],
            "warnings": counts["warning"], "notes": counts["note"],
        })  # fmt: skip
        return
    looked = f"{presets} preset{'' if presets == 1 else 's'}"
    told = ", ".join(
        f"{counts[s]} {s}{'' if counts[s] == 1 else 's'}" for s in _STYLES if counts[s]
    )
    terminal.out().print(f"{looked}: {told or 'nothing found'}")
