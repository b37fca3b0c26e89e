"""``harness run --continue-live``: what is stored, said, refused; without it nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.store.database import Store
from tests.cli.conftest import Cli
from tests.examples import PRICED, call, scenario, step
from tests.openai_server import KEY, Server, say, serving
from tests.openai_server import call as asks
from tests.stored import jsonl

TOOLS = '''
def count(word: str, times: int = 1) -> str:
    """Count a word."""
    return f"{word} x{times}"

def _hidden() -> None: ...
'''
GO = ("run", "some.jsonl", "-p", "balanced", "--continue-live", "--model", PRICED)
ENDS = scenario([step(call("count", {"word": "a"}, "a x1"))], id="made/ends", tools=["count"])
STUCK = scenario([step(call("count", {"word": "a"}, "a x1"))] * 3, id="made/stuck")


@pytest.fixture
def some(here: Path) -> Path:
    """A file of a recording that ends undecided and one that a guard ends; tools."""
    (here / "tools.py").write_text(TOOLS)
    return jsonl(here / "some.jsonl", ENDS, STUCK)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server where the standard variables point: it counts b twice, then stops."""

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if not body.get("tools"):
            return say(json.dumps({"done": False, "reason": "no", "evidence": []}))
        said = len(body["messages"])
        return say("", asks("count", {"word": "b", "times": said})) if said < 8 else say("Counted.")

    with serving(script=script) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def test_it_is_stored_shown_and_replays(harness: Cli, some: Path, server: Server) -> None:
    result = harness(*GO, "--record", "made.jsonl", "--tools", "tools.py", "--run", "one")
    assert result.code == 0, result
    assert f"1 episodes went on live with {PRICED}: 6 calls, $0.0001 -> made.jsonl" in result.err

    store = Store("harness.duckdb")
    (episode,) = store.rows("FROM episodes WHERE scenario = 'made/ends'")
    (row,) = store.rows("FROM continuations")
    assert row == {
        "run_id": "one", "episode_id": episode["episode_id"], "continued_at": 2,
        "cause": "recording_exhausted", "model": PRICED,
    }  # fmt: skip
    assert (episode["replay"], episode["diverged_at"], episode["exit_reason"]) == (
        "diverged", 1, "agent_finished",
    )  # fmt: skip
    assert store.rows(
        "SELECT branch, step FROM iterations WHERE episode_id = ? ORDER BY iteration",
        [episode["episode_id"]],
    ) == [{"branch": b, "step": s} for b, s in (("", 1), ("live", 1), ("live", 2), ("live", 3))]
    spans = [json.loads(s["attributes"]) for s in store.rows("FROM spans WHERE parent_id IS NULL")]
    (live,) = [s for s in spans if s["harness.episode.scenario"] == "made/ends"]
    assert live["harness.episode.continued_at"] == 2
    assert live["harness.episode.continued_by"] == PRICED

    shown = " ".join(harness("show", "made/ends").out.split())
    assert f"live from iteration 2, recording_exhausted, by {PRICED}" in shown
    told = harness("show", "made/ends", "--json").lines[0]
    assert told["continued"]["continued_at"] == 2
    assert harness("show", "made/stuck", "--json").lines[0].get("continued") is None

    calls = len(server.requests)
    again = harness("run", "made.jsonl", "-p", "balanced", "--run", "two")
    assert (again.code, len(server.requests)) == (0, calls)
    rows = store.rows("SELECT exit_reason, exit_iteration, replay FROM episodes "
                      "WHERE run_id = 'two'")  # fmt: skip
    assert rows == [{"exit_reason": "agent_finished", "exit_iteration": 4, "replay": "exact"}]


def test_without_it_nothing_goes_live(harness: Cli, some: Path, server: Server) -> None:
    assert harness("run", "some.jsonl", "-p", "balanced").code == 0
    assert server.requests == []
    assert Store("harness.duckdb").rows("FROM continuations") == []


def test_resuming_goes_on_in_the_same_way(harness: Cli, some: Path, server: Server) -> None:
    live = ("--continue-live", "--model", PRICED, "--record", "made.jsonl")
    harness(*GO, "--record", "made.jsonl", "--run", "one")
    asked = len(server.requests)
    assert "one was begun --continue-live --model gpt-4o-mini" in (
        harness("run", "--resume", "one").refusal()
    )
    jsonl(some, ENDS, STUCK, scenario([step(text="A.")], id="made/more"))
    result = harness("run", "--resume", "one", *live)
    assert (result.code, len(server.requests) > asked) == (0, True)
    assert "1 episodes of 3 scenarios, 2 were there already" in result.err
    harness("run", "some.jsonl", "-p", "cost", "--run", "two")
    assert "two was begun without --continue-live" in (
        harness("run", "--resume", "two", *live).refusal()
    )


LIVE = (*GO, "--record", "made.jsonl")


@pytest.mark.parametrize(("model", "shown"), [(PRICED, "$0.0001"), ("house-7b", "?")])
def test_what_it_cost_is_known_or_not(
    harness: Cli, some: Path, server: Server, model: str, shown: str
) -> None:
    result = harness("run", "some.jsonl", "-p", "balanced", "--continue-live", "--model", model,
                     "--record", "made.jsonl")  # fmt: skip
    assert result.code == 0
    assert f"calls, {shown} -> made.jsonl" in result.err


def test_a_model_that_never_answers_is_an_error(harness: Cli, some: Path, server: Server) -> None:
    server.script = lambda _: say(f"no such key: {KEY}", status=401)
    result = harness(*LIVE)
    assert result.code == 2
    assert ", ? -> made.jsonl" in result.err
    assert "harness: run: no live call succeeded: HTTP 401" in result.err
    assert KEY not in result.err + Path("made.jsonl").read_text()


def test_a_record_file_that_holds_something_is_not_written_into(
    harness: Cli, some: Path, server: Server
) -> None:
    made = some.parent / "made.jsonl"
    made.touch()
    assert harness(*LIVE, "--run", "one").code == 0
    before, asked = made.read_text(), len(server.requests)
    assert harness(*LIVE).refusal() == (
        "harness: run: --record: made.jsonl holds something already; name another file, or --force "
        "replaces the same episodes in it\n"
    )
    assert (made.read_text(), len(server.requests)) == (before, asked)
    live = ("--continue-live", "--model", PRICED, "--record", "made.jsonl")
    assert harness("run", "--resume", "one", *live).code == 0
    assert made.read_text() == before
    assert harness(*LIVE, "--force").code == 0
    assert len(server.requests) == 2 * asked


def test_no_secret_of_a_live_model_is_stored(harness: Cli, some: Path, server: Server) -> None:
    secret = "sk-proj-" + "aB3x" * 10
    server.script = lambda body: say(
        f"I use {secret}." if body.get("tools") else f'{{"reason": "{secret}"}}',
        *([asks("count", {"word": secret})] if body.get("tools") else []),
    )
    assert harness(*LIVE, "--tools", "tools.py", "--run", "one").code == 0
    assert any(secret in repr(body) for body in server.requests)
    store = Store("harness.duckdb")
    tables = [row["name"] for row in store.rows("SHOW TABLES")]
    assert {"messages", "llm_calls", "calls", "spans"} <= set(tables)
    assert [t for t in tables if secret in repr(store.rows(f"FROM {t}"))] == []
    assert "[redacted " in repr(store.rows("FROM messages"))
    assert secret not in Path("made.jsonl").read_text()
    harness("run", "made.jsonl", "-p", "balanced", "--run", "two")
    one, two = (
        store.rows("SELECT i.iteration, i.decision, i.path, e.exit_reason, e.exit_iteration "
                   "FROM iterations i JOIN episodes e USING (episode_id) WHERE e.run_id = ? "
                   "AND e.scenario LIKE 'made/ends%' ORDER BY i.iteration", [run])
        for run in ("one", "two")
    )  # fmt: skip
    assert one == two


def test_a_spent_budget_is_said(harness: Cli, some: Path, server: Server) -> None:
    others = [scenario([step(text=f"{n}.")], id=f"made/{n}") for n in range(3)]
    jsonl(some, *others)
    result = harness(*GO, "--record", "made.jsonl", "--max-calls", "3")
    assert result.code == 2
    assert result.err.endswith(
        "harness: run: the limit of 3 calls is reached; 2 episodes are left as their recordings "
        "end\n"
    )
    assert len(server.requests) == 3
    rows = Store("harness.duckdb").rows("SELECT count(*) AS n FROM episodes")
    assert rows == [{"n": 3}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "m"], "run: --model: only with --continue-live"),
        (["--record", "r.jsonl"], "run: --record: only with --continue-live"),
        (["--force"], "run: --force: only with --continue-live"),
        (["--setting", "a=1"], "run: --setting: only with --continue-live"),
        (["--continue-live"], "run: --continue-live: needs --model NAME"),
        (["--continue-live", "--model", "m"], "needs --record FILE.jsonl"),
        (["--continue-live", "--model", "m", "--record", "r.txt"], "must end in .jsonl"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--observe"],
         "--observe only records"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "-p", "observe"],
         "observe only records"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--workers", "2"],
         "takes one process"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--budget-usd", "1"],
         "the price of model 'm' is unknown"),
        (["--continue-live", "--model", PRICED, "--record", "r.jsonl", "--budget-usd", "0"],
         "must be a number of USD above 0"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--setting", "top_p"],
         "must be NAME=JSON"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--tools", "no.py"],
         "no.py: is no Python file"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--tools", "bad.py"],
         "bad.py:2: ZeroDivisionError: division by zero"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--tools", "empty.py"],
         "empty.py: defines no function"),
        (["--continue-live", "--model", "m", "--record", "r.jsonl", "--tools", "odd.py"],
         "odd: its arguments must have names"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused(
    harness: Cli, some: Path, server: Server, arguments: list[str], message: str
) -> None:
    Path("bad.py").write_text("# broken\n1 / 0\n")
    Path("empty.py").write_text("X = 1\n")
    Path("odd.py").write_text("def odd(*args): ...\n")
    assert message in harness("run", "some.jsonl", *arguments).refusal()
    assert server.requests == []


def test_a_key_is_needed(harness: Cli, some: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in harness(*GO, "--record", "made.jsonl").refusal()


def test_a_store_of_an_older_harness_is_shown(harness: Cli, some: Path) -> None:
    harness("run", "some.jsonl", "-p", "balanced")
    store = Store("harness.duckdb")
    store.execute("DROP TABLE continuations")
    assert harness("show", "made/ends").code == 0
