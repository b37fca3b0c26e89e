"""A run as it was stored: rows by episode and iteration, and spans as a tree."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.scenario import Scenario
from harness.store.database import Store
from tests.examples import PRICED, call, scenario, step

#: What the bundled scenarios lack: unknown times, a failed reply, reasoning, writes to a cache,
#: a pause that is answered.
ODD = scenario(
    [
        step(call("read", {"path": "a"}, "text", exit_code=0, ms=20), call("read"), ms=900),
        step(
            call("run", {"cmd": "make"}, "no rule", exit_code=2, ms=300),
            call("run", {"cmd": "ls"}, "a b", ms=700),
            model=PRICED,
            ms=1000,
            idle_ms=500,
            finish_reason="tool_calls",
            usage={"input": 1, "cache_read": 2, "cache_write": 4, "output": 8, "reasoning": 16},
            score=0.5,
        ),
        {
            "user": "Go on.",
            "reply": {"model": "no-such-model", "ms": 5, "error": "timeout"},
        },
    ],
    id="odd/one",
    tools=["read", "run"],
    limits={"max_iterations": 2},
)


def jsonl(path: Path, *scenarios: Scenario | str) -> Path:
    """A file of these scenarios, one a line; a text is a line as it is."""
    lines = [
        s if isinstance(s, str) else s.model_dump_json(by_alias=True, exclude_defaults=True)
        for s in scenarios
    ]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


class Stored:
    """The rows of one run, with each span's attributes, events and children read."""

    def __init__(self, store: Store) -> None:
        self.rows = store.rows
        self.start_ns = store.rows("FROM runs")[0]["created_ms"] * 1_000_000
        self.episodes = store.rows("FROM episodes")
        self.iterations = store.rows("FROM iterations ORDER BY episode_id, iteration")
        self.series = self._grouped("FROM guard_series", "episode_id")
        at = ("episode_id", "iteration")
        self.signals = self._grouped("FROM signals", *at)
        self.conditions = self._grouped("FROM conditions", *at)
        self.llm_calls = self._grouped("FROM llm_calls ORDER BY n", *at)
        self.calls = self._grouped("FROM calls ORDER BY n", *at)
        self.events = self._grouped("FROM mechanism_events ORDER BY rowid", *at)
        self.checks = self._grouped("FROM checks ORDER BY rowid", *at)
        self.spans = {}
        self.children = defaultdict(list)
        for span in store.rows("FROM spans ORDER BY rowid"):
            span["attributes"] = json.loads(span["attributes"])
            span["events"] = json.loads(span["events"])
            self.spans[span["episode_id"], span["span_id"]] = span
            self.children[span["episode_id"], span["parent_id"]].append(span)

    def _grouped(self, sql, *keys):
        grouped = defaultdict(list)
        for row in self.rows(sql):
            grouped[tuple(row[key] for key in keys)].append(row)
        return grouped

    def roots(self):
        """Each episode with its root span."""
        return [(episode, *self.children[episode["episode_id"], None]) for episode in self.episodes]

    def steps(self):
        """Each iteration with its key and its span."""
        for row in self.iterations:
            key = row["episode_id"], row["iteration"]
            yield key, row, self.spans[row["episode_id"], row["span_id"]]

    def of_kind(self, row, kind):
        """The chat or tool spans below an iteration, in order."""
        below = self.children[row["episode_id"], row["span_id"]]
        return [span for span in below if span["name"].split(" ")[0] == kind]


def loop(name, *scores):
    """A loop with a call, a draft and a score in each iteration."""
    steps = [
        step(
            call("write", {"n": n}, f"ok {name}", ms=9),
            ms=700 + n,
            model=PRICED,
            usage={"input": 10 * n, "output": n},
            text=f"Draft {n} of {name}.",
            score=score,
        )
        for n, score in enumerate(scores, 1)
    ]
    return scenario(steps, id=f"made/{name}", tools=["write"])


#: What differs between two runs of the same work.
OF_ONE_RUN = "EXCLUDE (run_id, episode_id{})"
TABLES = {
    "episodes": ", trace_id",
    "iterations": ", span_id",
    "guard_series": "",
    "calls": "",
    "llm_calls": "",
    "spans": ", trace_id, span_id, parent_id) REPLACE ("
    "start_ns - created_ms * 1000000 AS start_ns, end_ns - created_ms * 1000000 AS end_ns, "
    "replace(attributes, t.episode_id, '') AS attributes, "
    """regexp_replace(events, '"time_ns":[0-9]+', '', 'g') AS events""",
}


def work(store, run_id):
    """Everything stored of a run that is the work's own, by table and pair key."""
    return {
        table: store.rows(
            f"SELECT e.pair_key AS pair, t.* {OF_ONE_RUN.format(others)} FROM {table} t "
            "JOIN episodes e USING (episode_id) JOIN runs r ON r.run_id = t.run_id "
            "WHERE t.run_id = ? ORDER BY ALL",
            [run_id],
        )
        for table, others in TABLES.items()
    }


def everything(store, run_id):
    """Every row of a run, word for word."""
    return [store.rows(f"FROM {t} WHERE run_id = ? ORDER BY ALL", [run_id]) for t in TABLES]


def refusal(do, *args, **more):
    """What the user reads: one line."""
    with pytest.raises(HarnessError) as caught:
        do(*args, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pairs(store, run_id):
    rows = store.rows("SELECT pair_key FROM episodes WHERE run_id = ?", [run_id])
    return sorted(row["pair_key"] for row in rows)


def state(store, run_id):
    return store.rows("SELECT state FROM runs WHERE run_id = ?", [run_id])[0]["state"]
