"""Options of the plugin and the settings they stand for."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

#: How many scenarios were met that expect nothing of any preset.
BARE = pytest.StashKey[int]()
#: Variables by which continuous integration is told; there no expectation is ever rewritten.
CI = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITLAB_CI", "JENKINS_URL", "TEAMCITY_VERSION")
Mode = Literal["check", "update", "new", "review"]


@dataclass(frozen=True)
class Settings:
    """What the options and settings of a session come to.

    Attributes:
        only: Presets whose expectations are checked; all where empty.
        preset_paths: Files and folders in which presets are looked for before the bundled ones.
        store: Where every episode is stored; nowhere where ``None``.
        run_id: The run that they belong to; workers share it.
        start_ms: When it began.
        mode: What is done about expectations that do not hold.
    """

    only: tuple[str, ...]
    preset_paths: tuple[Path, ...]
    store: Path | None
    run_id: str
    start_ms: int
    mode: Mode

    def shared(self) -> dict[str, Any]:
        """What every worker has to have in common with the controller."""
        return {"run_id": self.run_id, "start_ms": self.start_ms}


def add_options(parser: pytest.Parser) -> None:
    """Options, and their equivalents in the configuration file where there can be one."""
    group = parser.getgroup("harness", "guards of agent loops (guard-harness)")
    group.addoption(
        "--harness-preset",
        action="append",
        default=[],
        metavar="NAME",
        help="check only the expectations of this preset; may be repeated (setting: "
        "harness_preset). With --harness-update, --harness-update-new-only or --harness-review "
        "also scenarios that expect nothing of it yet",
    )
    group.addoption(
        "--harness-preset-path",
        action="append",
        default=[],
        metavar="PATH",
        help="a preset's .toml file, or a folder of them; looked for here before the bundled ones "
        "(setting: harness_preset_paths, default: presets)",
    )
    group.addoption(
        "--harness-store",
        metavar="FILE",
        help="store every episode in this DuckDB file (setting: harness_store)",
    )
    group.addoption(
        "--harness-run",
        metavar="NAME",
        help="name of the run in the store (setting: harness_run); left out: a new one",
    )
    accept = group.addoption
    accept(
        "--harness-update",
        action="store_true",
        help="accept what was observed: rewrite expectations in their files. Refused in CI",
    )
    accept(
        "--harness-update-new-only",
        action="store_true",
        help="add expectations that are missing; those that do not hold still fail. Refused in CI",
    )
    accept(
        "--harness-review",
        action="store_true",
        help="at the end, ask about each expectation that does not hold. Refused in CI",
    )
    parser.addini("harness_preset", "presets whose expectations are checked", "linelist", [])
    parser.addini(
        "harness_preset_paths", "files and folders that hold presets", "linelist", ["presets"]
    )
    parser.addini("harness_store", "DuckDB file that every episode is stored in", "string", "")
    parser.addini("harness_run", "name of the run in the store", "string", "")


def settle(config: pytest.Config) -> Settings:
    """The settings of this session.

    Raises:
        pytest.UsageError: Options that exclude each other, or a rewriting one in CI.
    """
    option, ini = config.getoption, config.getini
    shared = getattr(config, "workerinput", {}).get("harness", {})
    store = option("--harness-store") or ini("harness_store")
    paths = option("--harness-preset-path") or ini("harness_preset_paths")
    now = time.time_ns()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 1_000_000_000))
    new = f"pytest-{stamp}-{now % 1_000_000_000 // 1000:06d}"
    return Settings(
        only=tuple(option("--harness-preset") or ini("harness_preset")),
        preset_paths=tuple(config.rootpath / path for path in paths),
        store=config.rootpath / store if store else None,
        run_id=shared.get("run_id") or option("--harness-run") or ini("harness_run") or new,
        start_ms=shared.get("start_ms", now // 1_000_000),
        mode=_mode(config),
    )


def _mode(config: pytest.Config) -> Mode:
    modes: dict[str, Mode] = {
        "--harness-update": "update",
        "--harness-update-new-only": "new",
        "--harness-review": "review",
    }
    asked = [name for name in modes if config.getoption(name)]
    if len(asked) > 1:
        raise pytest.UsageError(f"harness: {' and '.join(asked)} exclude each other; choose one")
    if not asked:
        return "check"
    for name in CI:
        if os.environ.get(name, "").lower() not in ("", "0", "false"):
            raise pytest.UsageError(
                f"harness: {asked[0]} rewrites expectations and is refused in CI ({name} is set); "
                "run it on your own machine and commit the change"
            )
    return modes[asked[0]]
