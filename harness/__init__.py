"""Guards for LLM agent loops: replay, record every signal, compare, tune.

The public names; each is imported when it is first used, so that ``import harness`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.episode import Episode
    from harness.errors import HarnessError
    from harness.exits import ExitReason
    from harness.files import load
    from harness.guards import Guard, register
    from harness.live import LoopGuard
    from harness.live_budget import Refusal
    from harness.loop import run_episode
    from harness.preset import Preset, load_preset
    from harness.scenario import Scenario
    from harness.store.database import Store
    from harness.trace import Iteration, Usage
    from harness.turns import prepare
    from harness.verdicts import Decision, Verdict

__version__ = "0.1.0"

_HOME = {
    "Decision": "verdicts",
    "Episode": "episode",
    "ExitReason": "exits",
    "Guard": "guards",
    "HarnessError": "errors",
    "Iteration": "trace",
    "LoopGuard": "live",
    "Preset": "preset",
    "Refusal": "live_budget",
    "Scenario": "scenario",
    "Store": "store.database",
    "Usage": "trace",
    "Verdict": "verdicts",
    "load": "files",
    "load_preset": "preset",
    "prepare": "turns",
    "register": "guards",
    "run_episode": "loop",
}
__all__ = [
    "Decision",
    "Episode",
    "ExitReason",
    "Guard",
    "HarnessError",
    "Iteration",
    "LoopGuard",
    "Preset",
    "Refusal",
    "Scenario",
    "Store",
    "Usage",
    "Verdict",
    "load",
    "load_preset",
    "prepare",
    "register",
    "run_episode",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(f"harness.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
