"""Write docs/step-line.md from recorded runs: ``python docs/step_line.py FOLDER``.

FOLDER holds mini-swe-agent's recordings (``mini_swe_agent_gemini3``) as they were published;
without FOLDER it is ``HARNESS_CORPORA``. What does each guard save at 5 % false stops, on runs that
it was not calibrated on, and does it beat counting steps? The same recordings give the same page.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.importers import recordings
from harness.preset import load_preset
from harness.prices import PICO_PER_USD
from harness.run import run
from harness.store.database import Store
from harness.tune.conformal import STEPS, calibrate
from harness.tune.corpus import Corpus, read
from harness.tune.risk import first_reached, iterations_before
from harness.tune.value import at_iterations, successes

HERE = Path(__file__).parent
PAGE = HERE / "step-line.md"
ALPHA = 0.05
SPLITS = 100
SEED = 0
BEATS = "beats it"
#: Guard of the observed preset, and what it says to a reader.
GUARDS = {
    STEPS: "step line: the length alone",
    "cost_budget": "cost budget",
    "spin_kind": "spin: same kind of action",
    "spin": "spin: same action and arguments",
    "spin_result": "spin: same action, arguments and result",
    "cycle": "cycle of actions",
    "recurrence": "recurrence: same action among the last ones",
    "repetition": "repetition: reply like an earlier one",
    "text_loop": "text loop: passage repeated inside a reply",
    "repeated_error": "repeated error",
    "repeated_failure": "repeated failure of one call",
    "no_progress": "no progress",
}
OBSERVED = """\
schema = "harness/preset@1"
observe = true
[guards]
cost_budget = { threshold = inf }
spin_kind = { kind = "spin", identity = "action" }
spin = { identity = "args" }
spin_result = { kind = "spin", identity = "args+normalised result" }
cycle = {}
recurrence = {}
repetition = { on = ["reply"] }
text_loop = { threshold = inf }
repeated_error = {}
repeated_failure = { threshold = inf }
no_progress = {}
"""
TEXT = """\
<!-- Written by `python docs/step_line.py FOLDER`; edit the script, not this page. -->

# What guards save at 5 % false stops

{runs} runs of mini-swe-agent on SWE-bench Verified, {good} of which solved their task, ${cost:,.2f}
in all. Each guard is calibrated on one half of the tasks so that at most {alpha:.0%} of the runs
that succeed are stopped (split conformal), and measured on the other half; {splits} random halves.

| guard | false stops held-out | saved of what the half cost | against the step line | |
|---|---|---|---|---|
{rows}

Mean over the halves, with the range that holds 95 % of them in brackets. The halves share runs, so
the range tells how much the answer depends on which runs one happens to have; it is no confidence
interval for other agents.

{finding}

What is saved is money of model calls; a stopped run that would have failed is a saving, one that
would have succeeded is a false stop. Whether a stopped run could have been mended is not known. A
guard that never reaches its threshold saves nothing and costs nothing.
"""
NOTHING = """\
**Nothing beats the step line beyond doubt**: at the same limit on false stops, no guard saves
reliably more than counting steps does."""
Floats = npt.NDArray[np.float64]


def main(folder: Path) -> None:
    """Replay, and write the page."""
    logging.disable(logging.WARNING)
    PAGE.write_text(page(folder), "utf-8")


def page(folder: Path) -> str:
    """The page, from the recordings in a folder."""
    corpus = observed(folder / "mini_swe_agent_gemini3")
    saved, false = held_out(corpus)
    whole = corpus.cost[corpus.offsets[1:] - 1].sum() / PICO_PER_USD
    line = saved[STEPS]
    rows = []
    better = []
    for name, words in GUARDS.items():
        more = saved[name] - line
        against = " | " if name == STEPS else f"{_range(more)} | {_verdict(more)}"
        rows.append(f"| {words} | {_share(false[name])} | {_range(saved[name])} | {against} |")
        if _verdict(more) == BEATS:
            better.append(words)
    return TEXT.format(
        runs=len(corpus), good=int(successes(corpus).sum()), cost=whole, alpha=ALPHA,
        splits=SPLITS, rows="\n".join(rows),
        finding=f"Beats the step line: {'; '.join(better)}." if better else NOTHING,
    )  # fmt: skip


def observed(folder: Path) -> Corpus:
    """The runs, observed by every guard of the page."""
    with tempfile.TemporaryDirectory() as place:
        file, preset = Path(place) / "runs.jsonl", Path(place) / "study.toml"
        preset.write_text(OBSERVED, "utf-8")
        (source,) = folder.glob("*.jsonl.gz")
        with file.open("w", encoding="utf-8") as lines:
            for recording in recordings("mini-swe-agent", source):
                lines.write(json.dumps(recording) + "\n")
        store = Store(Path(place) / "study.duckdb")
        run([file], [load_preset(str(preset))], store, run_id="study")
        return read(store, "study")


def held_out(corpus: Corpus) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Share of the cost saved, and of the good runs stopped, by guard and split."""
    rng = np.random.default_rng(SEED)
    saved: dict[str, Floats] = {name: np.zeros(SPLITS) for name in GUARDS}
    false: dict[str, Floats] = {name: np.zeros(SPLITS) for name in GUARDS}
    for split in range(SPLITS):
        order = rng.permutation(len(corpus))
        half = len(corpus) // 2
        train, test = corpus.only(order[:half]), corpus.only(order[half:])
        good = successes(test)
        cost = test.cost[test.offsets[1:] - 1]
        for name in GUARDS:
            found = calibrate(train, name, ALPHA)
            signals = (
                (iterations_before(test) + 1).astype(np.float64)
                if name == STEPS
                else test.guards[name].signals
            )
            first = first_reached(test, signals, found.comparison, found.threshold)
            stop = np.minimum(first, test.lengths)[None, :].astype(np.int32)
            value = at_iterations(test, stop)
            saved[name][split] = (cost - value.cost[0]).sum() / cost.sum()
            false[name][split] = value.early[0][good].mean()
    return saved, false


def _share(values: Floats) -> str:
    return f"{values.mean():.1%}"


def _range(values: Floats) -> str:
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{values.mean():+.1%} ({low:+.1%} to {high:+.1%})"


def _verdict(difference: Floats) -> str:
    low, high = np.quantile(difference, [0.025, 0.975])
    return BEATS if low > 0 else "worse" if high < 0 else "cannot be told"


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else os.environ["HARNESS_CORPORA"]))
