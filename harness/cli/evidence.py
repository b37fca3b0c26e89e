"""What stands behind a tuned preset: guarantees, attribution, exit curves, classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.cli.evidence_tables import (
    Shown,
    attribution_table,
    calibrate_table,
    curve_table,
    path_table,
    roc_table,
    runner_up_table,
)
from harness.errors import HarnessError, choices
from harness.preset import bundled as presets_bundled
from harness.preset import load_preset
from harness.store.database import Store
from harness.store.runs import chosen_run
from harness.tune.attribution import attribute, runners_up
from harness.tune.classifiers import classify
from harness.tune.conformal import STEPS, Calibration, calibrate, calibrate_all
from harness.tune.corpus import Corpus, read
from harness.tune.curves import curves
from harness.tune.labelled import bundled, read_labelled
from harness.tune.paths import PathLimit, calibrate_path, direction_of, loosened, sweepable
from harness.tune.risk import By
from harness.tune.sweep import exits

#: All guards of the observed preset.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of ``harness tune`` that ask for evidence instead of a choice; see ``answer``."""

    calibrate: str | None = None
    attribution: str | None = None
    curves: str | None = None
    classifiers: str | None = None
    alpha: float = 0.05
    observed: str | None = None


def answer(store_path: Path, run_id: str | None, asked: Asked, *, as_json: bool) -> bool:
    """Print what is asked for.

    Args:
        store_path: The store.
        run_id: An observed run.
        asked: What to calibrate, the presets to attribute and to draw, and a file of labels or
            ``bundled``.
        as_json: JSON lines on standard output.

    Returns:
        Whether anything was asked for.
    """
    more: dict[str, Any] = {"observed": asked.observed, "as_json": as_json}
    if asked.calibrate is not None:
        calibration(store_path, run_id, asked.calibrate, alpha=asked.alpha, **more)
    if asked.attribution is not None:
        attribution(store_path, run_id, asked.attribution, **more)
    if asked.curves is not None:
        exit_curves(store_path, run_id, asked.curves, **more)
    if asked.classifiers is not None:
        own = None if asked.classifiers == "bundled" else Path(asked.classifiers)
        classifiers(own, as_json=as_json)
    return any((asked.calibrate, asked.attribution, asked.curves, asked.classifiers))


def calibration(
    store_path: Path,
    run_id: str | None,
    what: str,
    *,
    alpha: float,
    by: By = "task",
    observed: str | None = None,
    as_json: bool,
) -> None:
    """Thresholds with a limit on false stops: of a guard, of all guards, or of a preset.

    Args:
        store_path: The store.
        run_id: An observed run; the newest where left out.
        what: A guard of the observed preset, ``steps``, ``all``, or a preset by name or file,
            which is then loosened until it keeps the limit.
        alpha: The limit, a share of good runs.
        by: What counts as one, a task or a run.
        observed: The observed preset, where the run has several.
        as_json: JSON lines on standard output.
    """
    corpus = _corpus(store_path, run_id, observed)
    if what in (ALL, STEPS) or what in corpus.guards:
        guards = calibrate_all(corpus, alpha, by) if what == ALL else [
            calibrate(corpus, name, alpha, by) for name in dict.fromkeys((STEPS, what))
        ]  # fmt: skip
        _print(calibrate_table(corpus, guards), as_json, _meaning(guards[0]))
        return
    if what not in presets_bundled() and not what.endswith(".toml"):
        raise HarnessError(f"calibrate: {choices(what, [ALL, STEPS, *corpus.guards])}; or a preset")
    under = load_preset(what)
    sweepable(corpus, under)
    found = calibrate_path(corpus, loosened(under, direction=direction_of(corpus)), alpha, by)
    _print(path_table(corpus, found), as_json, _meaning(found))


def _meaning(found: Calibration | PathLimit) -> str:
    more = f" ({found.runs} runs)" if isinstance(found, Calibration) else ""
    return (
        f"{found.good} good {found.by}s{more}; of new ones like these at most {found.alpha:.3g} "
        "are stopped falsely, on average over such calibrations; likely: upper limit for this one "
        "(95 %). steps: the length alone"
    )


def attribution(
    store_path: Path, run_id: str | None, preset: str, *, observed: str | None = None, as_json: bool
) -> None:
    """What each guard of a preset saves and loses, and who would have fired next."""
    corpus = _corpus(store_path, run_id, observed)
    under = load_preset(preset)
    found = attribute(corpus, under)
    left = f"; {found.left_out} cannot be swept" if found.left_out else ""
    left += f"; cost known in {found.priced}" if found.priced < found.episodes else ""
    _print(
        attribution_table(found),
        as_json,
        f"{found.episodes} episodes{left}; shares by Shapley, they sum to the whole; only it: what "
        "is missing if this one is off",
    )
    _print(runner_up_table(runners_up(corpus, under)), as_json, "after: what lies between, median")


def exit_curves(
    store_path: Path, run_id: str | None, preset: str, *, observed: str | None = None, as_json: bool
) -> None:
    """When loops end under a preset, by group of the exit reason."""
    corpus = _corpus(store_path, run_id, observed)
    under = load_preset(preset)
    sweepable(corpus, under)
    found = curves(corpus, exits(corpus, [under]))
    how = "resampled by task" if found.resampled else "delta method"
    _print(
        curve_table(found, under.name),
        as_json,
        f"share of loops that have ended so by then, with 95 % intervals ({how}); recordings that "
        "run out are censored",
    )


def classifiers(labels: Path | None, kind: str | None = None, *, as_json: bool) -> None:
    """What the rules that read texts say of labelled examples: bundled ones, or a file's."""
    found = classify(bundled() if labels is None else read_labelled(labels), kind)
    _print(
        roc_table(found),
        as_json,
        "intervals at 95 %; the bundled examples are hard on purpose, so these are no error rates "
        "of your loops; --json lists the examples that go wrong",
    )


def _corpus(store_path: Path, run_id: str | None, observed: str | None) -> Corpus:
    store = Store(store_path)
    return read(store, chosen_run(store, run_id), observed)


def _print(shown: Shown, as_json: bool, below: str) -> None:
    if as_json:
        for record in shown.records:
            terminal.json_line(record)
        return
    console = terminal.out()
    console.print(terminal.table(shown.columns, shown.rows))
    console.print(f"[dim]{below}[/]")
