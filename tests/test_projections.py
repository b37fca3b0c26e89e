"""Spans and rows say the same, field by field, over everything that comes with the harness."""

from __future__ import annotations

from collections import defaultdict

import pytest

from harness import conventions as names
from harness.files import bundled_scenarios
from harness.preset import DEFAULTS, load_presets
from harness.run import run
from harness.store.database import Store
from tests.stored import ODD, Stored, jsonl

TOKENS = ("input_uncached", "cache_read", "cache_write", "output", "reasoning")
TOTALS = (*TOKENS, "cost_pico_usd")
ROOT_FIELDS = (
    "scenario", "preset", "family", "status", "exit_reason", "exit_group", "exit_guard",
    "exit_reason_source", "message", "exit_iteration", "best_score", "best_iteration",
    "needs_human", "replay", "diverged_at", "unrecorded_calls", "outcome", "pair_key", "observe",
    "prompt_assumed",
)  # fmt: skip
ITERATION_FIELDS = (
    "decision", "path", "exit_reason", "score", "score_source", "best_score", "elapsed_ms", "phase",
    "overlap",
)  # fmt: skip
FAILED = ("limit", "stuck", "paused")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("projections")
    odd = jsonl(folder / "odd.jsonl", ODD)
    store = Store(folder / "store.duckdb")
    run([bundled_scenarios(), odd], load_presets(DEFAULTS), store, run_id="all")
    return Stored(store)


def present(row, fields):
    """What is not NULL."""
    return {field: row[field] for field in fields if row[field] is not None}


def under(prefix, span):
    """A span's attributes of one prefix."""
    attributes = span["attributes"]
    return {k.removeprefix(prefix): v for k, v in attributes.items() if k.startswith(prefix)}


def test_the_root_span_is_the_episode(stored):
    for row, span in stored.roots():
        assert present(row, ROOT_FIELDS) == under(names.EPISODE, span)
        assert span["name"] == f"invoke_agent {row['scenario']}"
        assert span["trace_id"] == row["trace_id"]
        assert span["attributes"][names.AGENT_NAME] == row["scenario"]
        assert span["attributes"][names.CONVERSATION_ID] == row["episode_id"]
        assert span["status"] == ("ERROR" if row["exit_group"] in FAILED else "UNSET")


def test_an_iteration_span_is_its_row(stored):
    for _, row, span in stored.steps():
        expected = {"number": row["iteration"], **present(row, ITERATION_FIELDS)}
        actual = under(names.ITERATION, span)
        actual.pop("conditions", None)
        assert expected == actual
        assert (span["name"], span["status"]) == ("harness.iteration", "UNSET")
        assert span["attributes"][names.TIME_KNOWN] == (row["ms"] is not None)


def test_an_iteration_span_tells_what_mechanisms_and_checks_did(stored):
    events, checks = stored.events, stored.checks
    assert events
    assert checks
    for key, _, span in stored.steps():
        told = [
            f"{e['mechanism']}: {e['event']}" + (f" ({e['trigger']})" if e["trigger"] else "")
            for e in events.get(key, ())
        ]
        assert told == span["attributes"].get(names.MECHANISMS, [])
        looked = [
            f"{c['phase']}/{c['check_id']}: {'holds' if c['passed'] else 'missing'}"
            for c in checks.get(key, ())
        ]
        assert looked == span["attributes"].get(names.CHECKS, [])


def test_an_iteration_span_carries_every_signal(stored):
    for key, _, span in stored.steps():
        readings = stored.signals[key]
        known = {r["guard"]: r["signal"] for r in readings if r["signal"] is not None}
        assert known == under(names.SIGNAL, span)
        fired = [r["guard"] for r in readings if r["fired"]]
        assert fired == span["attributes"].get(names.FIRED, [])
        unknown = [r["guard"] for r in readings if r["unknown"] and not r["fired"]]
        assert unknown == span["attributes"].get(names.UNKNOWN, [])


def test_the_root_span_carries_every_threshold_that_can_be_reached(stored):
    for row, span in stored.roots():
        series = stored.series[(row["episode_id"],)]
        finite = {s["guard"]: s["threshold"] for s in series if s["threshold"] < float("inf")}
        assert finite == under(names.THRESHOLD, span)


def test_an_iteration_span_carries_every_condition_that_held(stored):
    for key, _, span in stored.steps():
        held = [
            f"{c['name']}={c['reason']}:{c['action']}:{c['state']}"
            for c in stored.conditions[key]
            if c["state"] != "unknown"
        ]
        assert held == span["attributes"].get(names.ITERATION + "conditions", [])


def test_scores_and_firing_guards_are_events(stored):
    for key, row, span in stored.steps():
        events = [event["attributes"] for event in span["events"]]
        assert {e["name"] for e in span["events"]} <= {"gen_ai.evaluation.result"}
        assert {e["time_ns"] for e in span["events"]} <= {span["end_ns"]}
        score = {names.EVALUATION_NAME: "score", names.EVALUATION_SCORE: row["score"]}
        expected = [] if row["score"] is None else [score]
        expected += [verdict(reading) for reading in stored.signals[key] if reading["fired"]]
        assert [without_words(event) for event in events] == expected


def test_the_root_span_says_how_it_ended_and_every_last_verdict(stored):
    for row, span in stored.roots():
        exit_, *verdicts = (event["attributes"] for event in span["events"])
        assert exit_ == {
            names.EVALUATION_NAME: "exit",
            names.EVALUATION_LABEL: row["exit_reason"],
            names.EVALUATION_EXPLANATION: row["message"],
        }
        readings = stored.signals[row["episode_id"], row["exit_iteration"]]
        assert [without_words(event) for event in verdicts] == [verdict(r) for r in readings]


def verdict(reading):
    label = "fired" if reading["fired"] else "unknown" if reading["unknown"] else "held"
    numbers = {
        names.EVALUATION_SCORE: reading["signal"],
        names.VERDICT_THRESHOLD: reading["threshold"],
    }
    return {
        names.EVALUATION_NAME: reading["guard"],
        names.EVALUATION_LABEL: label,
        names.VERDICT_FIRED: reading["fired"],
        names.VERDICT_COMPARISON: reading["comparison"],
        **{k: v for k, v in numbers.items() if v is not None and v < float("inf")},
    }


def without_words(event):
    words = event.get(names.EVALUATION_EXPLANATION, "")
    assert words.startswith(event.get(names.EVALUATION_LABEL, ""))
    return {k: v for k, v in event.items() if k != names.EVALUATION_EXPLANATION}


def test_a_model_call_is_a_chat_span(stored):
    for key, row, _ in stored.steps():
        chats = stored.of_kind(row, "chat")
        assert [expected_chat(c) for c in stored.llm_calls[key]] == [actual(s) for s in chats]


def expected_chat(row):
    attributes = {
        "gen_ai.operation.name": "chat",
        "harness.role": row["role"],
        "harness.time_known": row["ms"] is not None,
        "gen_ai.request.model": row["model"],
        "gen_ai.response.finish_reasons": row["finish_reason"] and [row["finish_reason"]],
        "harness.cost_pico_usd": row["cost_pico_usd"],
        "error.type": row["error"],
    }
    if row["output"] is not None:
        read, write = row["cache_read"], row["cache_write"]
        attributes |= {
            "gen_ai.usage.input_tokens": row["input_uncached"] + read + write,
            "gen_ai.usage.output_tokens": row["output"] + row["reasoning"],
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.cache_creation.input_tokens": write,
            "gen_ai.usage.reasoning.output_tokens": row["reasoning"],
        }
    name = f"chat {row['model']}" if row["model"] else "chat"
    return name, "CLIENT", row["ms"] or 0, present(attributes, attributes)


def test_a_tool_call_is_an_execute_tool_span(stored):
    for key, row, _ in stored.steps():
        tools = stored.of_kind(row, "execute_tool")
        assert [expected_tool(c) for c in stored.calls[key]] == [actual(s) for s in tools]


def expected_tool(row):
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": row["tool"],
        "gen_ai.tool.type": "function",
        "harness.call.ok": row["ok"],
        "harness.call.exit_code": row["exit_code"],
        "harness.time_known": row["ms"] is not None,
    }
    name = f"execute_tool {row['tool']}"
    return name, "INTERNAL", row["ms"] or 0, present(attributes, attributes)


def actual(span):
    length_ms, rest = divmod(span["end_ns"] - span["start_ns"], 1_000_000)
    assert rest == 0
    return span["name"], span["kind"], length_ms, span["attributes"]


def test_spans_form_one_tree_an_episode(stored):
    by_episode = defaultdict(list)
    for _, row, span in stored.steps():
        by_episode[row["episode_id"]].append(span)
        below = stored.children[row["episode_id"], row["span_id"]]
        assert len(below) == len(stored.of_kind(row, "chat")) + len(
            stored.of_kind(row, "execute_tool")
        )
    for row, root in stored.roots():
        assert by_episode[row["episode_id"]] == stored.children[row["episode_id"], root["span_id"]]
    traces = {row["episode_id"]: row["trace_id"] for row in stored.episodes}
    assert all(span["trace_id"] == traces[episode] for (episode, _), span in stored.spans.items())
    rows = sum(map(len, (*stored.llm_calls.values(), *stored.calls.values())))
    assert len(stored.spans) == len(stored.episodes) + len(stored.iterations) + rows


def test_spans_follow_the_virtual_clock(stored):
    clock = {}
    for _, row, span in stored.steps():
        start = clock.get(row["episode_id"], stored.start_ns)
        assert span["start_ns"] == start
        if row["ms"] is not None:
            assert span["end_ns"] == start + row["ms"] * 1_000_000
        for child in stored.children[row["episode_id"], row["span_id"]]:
            assert start <= child["start_ns"] <= child["end_ns"] <= span["end_ns"]
        clock[row["episode_id"]] = span["end_ns"]
    for row, root in stored.roots():
        assert (root["start_ns"], root["end_ns"]) == (stored.start_ns, clock[row["episode_id"]])


def test_totals_are_sums_of_their_parts(stored):
    """Of iterations and of model calls; unknown where a part is."""
    parts = {"iterations": defaultdict(list), "llm_calls": defaultdict(list)}
    for key, row, _ in stored.steps():
        parts["iterations"][row["episode_id"]].append(row)
        parts["llm_calls"][row["episode_id"]] += stored.llm_calls[key]
        assert totals(stored.llm_calls[key]) == totals([row])
    for row in stored.episodes:
        for table in parts.values():
            assert totals(table[row["episode_id"]]) == totals([row])
        iterations = parts["iterations"][row["episode_id"]]
        assert total([r["ms"] for r in iterations]) == row["elapsed_ms"]
        assert row["elapsed_ms"] == iterations[-1]["elapsed_ms"]
        assert row["calls"] == sum(len(stored.calls[key_of(r)]) for r in iterations)
        assert row["exit_iteration"] == len(iterations) == row["rounds"] + 1
        scores = [r["score"] for r in iterations if r["score"] is not None]
        assert (row["score_history"], row["final_score"]) == (scores, (scores or [None])[-1])


def key_of(row):
    return row["episode_id"], row["iteration"]


def totals(rows):
    return {field: total([row[field] for row in rows]) for field in TOTALS}


def total(values):
    return None if None in values else sum(values)


def test_the_signals_view_is_the_series_unrolled(stored):
    count = 0
    for (episode,), series in stored.series.items():
        for guard in series:
            for at in range(len(guard["signals"])):
                row = {
                    **{k: guard[k] for k in ("run_id", "episode_id", "guard", "kind", "settings")},
                    **{k: guard[k] for k in ("threshold", "comparison")},
                    "iteration": at + 1,
                    "signal": guard["signals"][at],
                    "fired": guard["fired"][at],
                    "unknown": guard["unknown"][at],
                }
                assert row in stored.signals[episode, at + 1]
                count += 1
    assert count == sum(map(len, stored.signals.values()))


def test_the_conditions_view_marks_exactly_the_winner(stored):
    for key, row, _ in stored.steps():
        won = [c for c in stored.conditions[key] if c["won"]]
        assert len(won) == (row["decision"] != "continue" or row["exit_reason"] is not None)
        if row["exit_reason"] is not None:
            assert row["exit_reason"] == won[0]["reason"]
    for row in stored.episodes:
        won = [c for c in stored.conditions[row["episode_id"], row["exit_iteration"]] if c["won"]]
        if row["exit_guard"] is not None:
            assert (row["exit_guard"], row["exit_reason"]) == (won[0]["name"], won[0]["reason"])
            assert {"true"} == {c["state"] for c in won}


def test_the_run_has_what_these_tests_are_about(stored):
    """So that none of them is true of nothing."""
    assert {True, False} == {row["ms"] is None for row in stored.iterations}
    assert {True, False} == {row["output"] is None for row in stored.episodes}
    assert {True, False} == {row["cost_pico_usd"] is None for row in stored.episodes}
    assert {True, False} == {row["observe"] for row in stored.episodes}
    assert {"finished", "paused", "stopped", "undecided"} == {r["status"] for r in stored.episodes}
    assert {"exact", "censored", "diverged"} == {row["replay"] for row in stored.episodes}
    assert any(row["unknown"] for rows in stored.signals.values() for row in rows)
    assert any(c["state"] == "answered" for rows in stored.conditions.values() for c in rows)
    assert stored.rows("SELECT 1 FROM calls WHERE exit_code = 2 AND NOT ok")
    assert stored.rows("SELECT 1 FROM llm_calls WHERE error = 'timeout'")
