"""Write docs/met-threshold.md from recorded runs: ``python docs/met_threshold.py FOLDER``.

FOLDER holds the recordings as their authors published them: ``textgrad/reflexion_leetcode``,
``reflexion/programming``, ``autoresearch``, ``gepa_confidence``, ``loopgain_bench``. They are
imported, replayed into a temporary store, and every figure is read from it in SQL
(``met_threshold.sql``). Without FOLDER it is ``HARNESS_CORPORA``. The same recordings give the
same page.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.importers import recordings
from harness.preset import Preset, load_preset
from harness.run import run
from harness.store.database import Store

HERE = Path(__file__).parent
PAGE = HERE / "met-threshold.md"
#: Run, importer, folder: programs that were finished once their tests passed.
MET = {
    "textgrad": ("textgrad", "textgrad/reflexion_leetcode"),
    "reflexion": ("reflexion", "reflexion/programming"),
}
#: Run, importer, folder: long score histories.
LONG = {
    "autoresearch": ("autoresearch", "autoresearch"),
    "gepa": ("gepa", "gepa_confidence"),
    "loopgain": ("loopgain", "loopgain_bench"),
}
#: Stopping policies, as a user would write them.
POLICIES = {
    **{f"{n} iterations": f'max_iterations = {{ threshold = {n}, on_fire = "stop" }}'
       for n in (3, 5, 10)},
    **{f"patience {n}": f"patience = {n}" for n in (1, 2, 3, 5)},
    "stagnation": "stagnation = {}",
    "quality 0.85": "quality = {}",
    "target met": "quality = 0.0",
    "target met, else patience 3": "quality = 0.0\npatience = 3",
}  # fmt: skip
_QUERIES = (HERE / "met_threshold.sql").read_text("utf-8")
_SQL = dict(re.findall(r"-- name: (\w+)\n(.*?);\n", _QUERIES, re.DOTALL))


def main(folder: Path) -> None:
    """Replay, and write the page."""
    logging.getLogger("harness").setLevel(logging.ERROR)
    PAGE.write_text(page(folder), "utf-8")


def page(folder: Path) -> str:
    """The page, from the recordings in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(scratch) / "study.duckdb")
        _replay(store, folder, Path(scratch))
        return _TEXT.format(**_figures(store))


def _replay(store: Store, folder: Path, scratch: Path) -> None:
    repeats = 'program = { kind = "repetition", on = ["output"] }'
    everything = _preset(scratch, "everything", repeats, observe=True)
    visible = _preset(scratch, "visible tests pass", "quality = 1.0")
    policies = [_preset(scratch, name, guards) for name, guards in POLICIES.items()]
    for runs, presets in ((MET, [everything, visible]), (LONG, [everything, *policies])):
        for name, (importer, path) in runs.items():
            file = scratch / f"{name}.jsonl"
            lines = (json.dumps(found) + "\n" for found in recordings(importer, folder / path))
            file.write_text("".join(lines), "utf-8")
            run([file], presets if name != "reflexion" else [everything], store, run_id=name)


def _preset(scratch: Path, name: str, guards: str, *, observe: bool = False) -> Preset:
    mode = "observe = true\n" if observe else ""
    file = scratch / f"{name}.toml"
    file.write_text(f'schema = "harness/preset@1"\n{mode}[guards]\n{guards}\n', "utf-8")
    return load_preset(str(file))


def _figures(store: Store) -> dict[str, Any]:
    store.execute(_SQL["kept"])
    found = {name: store.rows(sql) for name, sql in _SQL.items() if name != "kept"}
    *by_program, every = found["programs"]
    (tasks,) = found["tasks"]
    repeats = {row["repeated"]: row for row in found["repeats"]}
    last = {row["run_id"]: row for row in found["lengths"]}
    gains = {(row["run_id"], row["preset"]): row for row in found["gains"]}
    rows = [(row["program"], *_verdict(row)) for row in by_program]
    return {
        "programs": _grid(("program", *_VERDICT), [*rows, ("all", *_verdict(every))]),
        "met": every["met"],
        "wrong": every["wrong"],
        "judged": every["good"] + every["wrong"],
        "wrong_share": _percent(every["wrong"], every["good"] + every["wrong"]),
        "tasks": tasks["tasks"],
        "wrong_tasks": tasks["wrong"],
        "repeated": repeats[True]["runs"],
        "repeated_good": repeats[True]["good"],
        "fresh": repeats[False]["runs"],
        "fresh_good": repeats[False]["good"],
        "own": _grid(
            ("log", "runs", *_VERDICT),
            ((row["log"], row["runs"], *_verdict(row)) for row in found["own"]),
        ),
        "logs": _grid(_LOG, map(_log, found["logs"])),
        "gains": "\n\n".join(_gains(name, last[name], gains) for name in LONG),
    }


_VERDICT = ("threshold met", "right", "wrong", "not judged", "share wrong")


def _verdict(row: dict[str, Any]) -> tuple[object, ...]:
    judged = row["good"] + row["wrong"]
    counts = (row["met"], row["good"], row["wrong"], row["unknown"])
    return (*counts, _percent(row["wrong"], judged) if judged else "-")


_LOG = ("log", "iterations", "best in", "patience 5 stops in", "keeps", "stagnation stops in",
        "keeps")  # fmt: skip


def _log(row: dict[str, Any]) -> tuple[object, ...]:
    return (
        row["log"], row["length"], row["best_at"],
        row["patience"], _percent(row["patience_share"], 1),
        row["stagnation"], _percent(row["stagnation_share"], 1),
    )  # fmt: skip


def _gains(name: str, last: dict[str, Any], gains: dict[tuple[str, str], dict[str, Any]]) -> str:
    rows = [
        (
            policy, _percent(row["used"], 1), _percent(row["mean"], 1), _percent(row["middle"], 1),
            _percent(row["worst"], 1), f"{row['whole']} of {row['gained']}",
        )
        for policy in POLICIES
        if (row := gains.get((name, policy)))
    ]  # fmt: skip
    header = ("policy", "iterations run", "gain kept, mean", "median", "worst", "kept all")
    return (
        f"### {name}\n\n{last['runs']:,} histories, {last['iterations']:,} iterations; "
        f"{last['gained']:,} of the histories have a gain, and the best of these came after "
        f"{_percent(last['middle'], 1)} of the iterations (median).\n\n"
        f"{_grid(header, rows)}"
    )


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def _grid(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    return "\n".join(_lines(list(header), rows))


def _lines(header: list[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


_TEXT = """\
<!-- Written by `python docs/met_threshold.py FOLDER`; edit that script, not this page. -->

# Where a met threshold was wrong, and what a stop gives away

A quality threshold is only as good as the score. Two questions to runs recorded by others, each
imported and replayed through the guards:

1. A loop ended because its threshold was met. How often was the work wrong all the same?
2. A stopping policy ends a loop early. Which share of the gain that the loop still made does it
   keep?

## 1. Tests passed, work wrong

TextGrad's benchmark lets a loop rewrite a LeetCode-hard program until the two or three tests that
the task shows are passed, at most five times. Only afterwards are the hidden tests asked. Guards
see the visible tests as the score (`quality = 1.0`); the hidden ones are the outcome and nothing
else. Where asking them failed, the run is *not judged*.

{programs}

Of {judged} runs with a met threshold and a verdict, {wrong} were wrong ({wrong_share}). There are
five runs of each task, so they are not independent: the threshold was met on {tasks} tasks, and
wrong at least once on {wrong_tasks} of them.

A sign that needs no truth: of the runs that wrote more than one program, {repeated} wrote one they
had written before (`repetition` on output at 1), and {repeated_good} of those were solved; of the
{fresh} others, {fresh_good} were.

Reflexion's own logs say the same of tests that the model wrote for itself (HumanEval, MBPP) or was
shown (LeetCode). Results of these tests are not recorded. That they passed is inferred, where a
run is shorter than the longest of its log.

{own}

What to read from it: the same rule, "all tests pass", is wrong in 1 % of the runs or in most of
them, by how much the tests cover. Ask for outcome once, with `recorded.outcome`, before trusting a
threshold; and do not let a met threshold stand alone where a gate, a verifier or hidden tests can
be asked.

## 2. What a stop gives away

Score histories that nothing stopped. *Gain* is the best score of the whole history less the first
one; *kept* is the share of it that was there when the policy stopped. Histories that never got
better than their first score have no gain to keep. Histories of fewer than eight scores are left
out, and so are iterations that crashed. `quality 0.85` is measured where scores are shares of 1
(gepa), `target met` where the source states a target (loopgain, 700 of the histories).

{gains}

### autoresearch, log by log

{logs}

What to read from it: in long searches patience under 5 leaves much of the gain unused, and no
policy here keeps all of it; the best comes late. Where most loops are best at once (loopgain),
patience gives something away only in the few that are not, and a target, where there is one, gives
away nothing. `stagnation` compares with a fixed difference: the same 0.02 is large for a loss near
1 and nothing for an error in the hundreds, so set it in the unit of the score. Reaching 0.85 says
nothing about what was still to gain: it is where two of three data sets of gepa began.

Each figure rests on what is named with it. Six searches are few; the loopgain histories are many,
but of ten cells.
"""

if __name__ == "__main__":
    given = sys.argv[1] if sys.argv[1:] else os.environ.get("HARNESS_CORPORA")
    if given is None:
        sys.exit("name the folder of the recordings: python docs/met_threshold.py FOLDER")
    main(Path(given))
