"""Judging guards: agreement with what a sensible user expects, and the health of a preset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.store.database import Store
from harness.store.queries import query


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """What a healthy reflection loop looks like (SPEC section 7); each is a setting.

    Attributes:
        quick_share: At least this share ends on quality within ``within_rounds`` revisions.
        stagnation_share: At most this share ends on stagnation.
        limit_share: At most this share ends on a limit.
    """

    quick_share: float = 0.60
    within_rounds: int = 2
    stagnation_share: float = 0.25
    limit_share: float = 0.05


@dataclass(frozen=True, slots=True)
class Health:
    """How a preset does on scored scenarios.

    Attributes:
        findings: What is off, and where to look; empty if healthy.
        never_reached: Guards whose threshold no signal reached.
    """

    preset: str
    episodes: int
    quick: float
    stagnated: float
    limited: float
    findings: tuple[str, ...]
    never_reached: tuple[str, ...]


def agreement(store: Store, run_id: str) -> list[dict[str, Any]]:
    """One row a preset: verdicts against truth, what was burnt, regret against the oracle stop.

    The oracle stops at the best iteration of the recording; regret is known where a preset of the
    same run watched it to its end (``observe``).
    """
    rows = store.rows(query("agreement"), {"run": run_id})
    regret = {row["preset"]: row for row in store.rows(query("regret"), {"run": run_id})}
    for row in rows:
        found = regret.get(row["preset"], {})
        row["mean_regret"] = found.get("mean_regret")
        row["later_better"] = found.get("later_better")
    return sorted(rows, key=lambda row: (-row["right_verdicts"], row["preset"]))


def disagreements(store: Store, run_id: str, presets: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The episodes whose ending a sensible user would not have expected."""
    return store.rows(query("disagreements"), {"run": run_id, "presets": list(presets)})


def health(
    store: Store,
    run_id: str,
    limits: HealthLimits | None = None,
    families: Sequence[str] = (),
) -> list[Health]:
    """Whether presets behave as a reflection loop should on the scored scenarios of a run.

    Args:
        store: Where the run is.
        run_id: The run.
        limits: What counts as healthy; SPEC's values where left out.
        families: Only these families; all where left out.
    """
    limits = limits or HealthLimits()
    rows = store.rows(
        query("health"),
        {"run": run_id, "within": limits.within_rounds, "families": list(families)},
    )
    silent: dict[str, list[str]] = {}
    for row in store.rows(query("never_reached"), {"run": run_id}):
        silent.setdefault(row["preset"], []).append(row["guard"])
    return [_health(row, limits, tuple(silent.get(row["preset"], ()))) for row in rows]


def _health(row: Mapping[str, Any], limits: HealthLimits, silent: tuple[str, ...]) -> Health:
    n = row["episodes"]
    quick, stagnated, limited = row["quick"] / n, row["stagnated"] / n, row["limited"] / n
    findings = []
    if quick < limits.quick_share:
        findings.append(
            f"only {quick:.0%} end on quality within {limits.within_rounds} rounds (at least "
            f"{limits.quick_share:.0%}): look at the first draft and the quality threshold"
        )
    if stagnated > limits.stagnation_share:
        findings.append(
            f"{stagnated:.0%} end on stagnation (at most {limits.stagnation_share:.0%}): look at "
            "the reflection prompt"
        )
    if limited > limits.limit_share:
        findings.append(
            f"{limited:.0%} end on a limit (at most {limits.limit_share:.0%}): look at the task's "
            "difficulty or the first draft"
        )
    return Health(row["preset"], n, quick, stagnated, limited, tuple(findings), silent)
