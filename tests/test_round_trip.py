"""Scenario -> file -> scenario: nothing is lost, and it replays the same."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ScenarioError
from harness.exits import ExitReason
from harness.export.files import held, line_of, plain, yaml_of
from harness.files import Raw, bundled_scenarios, load, parse
from harness.preset import load_preset
from harness.scenario import Generate, Recorded, Scenario, Step, Truth
from harness.task import ConfirmationCheck, FileCheck, GlobCheck, Limits, ScriptCheck
from harness.text import mended
from harness.turns import prepare
from harness.yamlfile import load_yaml
from tests.examples import call, step
from tests.round_trips import as_files, read_text, seen

#: Texts that a careless writer of YAML or JSON would change.
AWKWARD = (
    "", " ", "\n", "a\n", "a\n\n", "\na", " a", "a ", "a \nb", "a\n b", "a\n\n  b\nc", "a\tb",
    "\ta",
    "a\r\nb", "a\rb", "\x00", "\x07\x1b[31m", "\x7f", "\x85", "\xa0", "a\xa0", "\u2028", "\u2029",
    "\ufeff", "\ufeffa", "\u200b", "\U0001f600", "\ud800", "a\udfffb", "e\u0301", "yes", "No", "on",
    "off", "y", "null", "~", "true", "1", "1e3", "1_000", "0o17", "0x1F", "1:30", ".5", ".inf",
    ".nan", "2026-01-02", "2026-01-02T03:04:05Z", "-", "- a", "- a\n- b", "a: b", "a:", ":a", "#a",
    "a #b", "a\n#b", "%a", "%a\nb", "@a", "`a", "!a", "!!str a", "&a", "*a", "<<", "=", "?", "? a",
    "|", ">", "|\na", "---", "...", "---\na", "[", "{}", "[a]", "{a: b}", "a, b", "'", '"', "''",
    "\\", "\\n", "\\ud800", "\\x41", '{"a": "b"}', "<b>&amp;</b>", "x" * 200, "w " * 60, "a\n" * 40,
)  # fmt: skip
texts = st.sampled_from(AWKWARD) | st.text(max_size=30)
names = texts.filter(lambda text: 0 < len(text) <= 300)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
objects = st.dictionaries(texts, values, max_size=3)
maybe = st.none() | texts
counts = st.none() | st.integers(0, 10**6)
reasons = st.sampled_from(list(ExitReason))


def part(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object of which any member may be missing."""
    return st.fixed_dictionaries({}, optional=members)


def whole(more: dict[str, Any], **members: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object with members that it needs, and with more that may be missing."""
    return st.fixed_dictionaries(members, optional=more)


usages = part(**dict.fromkeys(("input", "cache_read", "cache_write", "output", "reasoning"),
                              st.integers(0, 10**6)))  # fmt: skip
replies = part(text=texts, model=maybe, finish_reason=maybe, ms=counts, request_hash=maybe,
               usage=st.none() | usages, error=maybe)  # fmt: skip
calls = whole(
    {"args": values, "result": maybe, "ok": st.none() | st.booleans(),
     "exit_code": st.none() | st.integers(-(2**63), 2**63 - 1), "ms": counts,
     "key": st.booleans(), "builtin": st.booleans()},
    tool=texts,
)  # fmt: skip
scores = (
    st.none()
    | st.floats(0, 1)
    | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
        lambda pair: {"passed": min(pair), "total": max(*pair, 1)}
    )
)
answers = texts | replies.filter(bool)
handlers = part(
    reflection=st.none() | whole({"data": objects}, level=st.sampled_from(["none", "deep"])),
    perception=maybe, verify=maybe, exit=st.booleans(),
)  # fmt: skip
steps = part(
    user=maybe, nudge=maybe, interrupted=st.booleans(), reply=replies,
    calls=st.lists(calls, max_size=2), idle_ms=st.integers(0, 9), output=maybe, plan=maybe,
    score=scores, judge=st.none() | answers, feedback=maybe,
    roles=st.dictionaries(texts, answers | st.lists(answers, max_size=2), max_size=2),
    handler=st.none() | handlers, writes=st.none() | st.lists(texts, max_size=2),
    confirms=st.lists(whole({}, phase=texts, check=texts), max_size=1), loop=maybe,
)  # fmt: skip
checks = (
    whole({"scope": st.sampled_from(["iteration", "phase", "episode"])}, id=texts,
          kind=st.just("script"), command=names)
    | whole({}, id=texts, kind=st.just("file_exists"), path=names)
    | whole({"min": st.integers(0, 3)}, id=texts, kind=st.just("file_glob_count"), pattern=names)
    | whole({}, id=texts, kind=st.just("user_confirmation"))
)  # fmt: skip
phases = whole({"checks": st.lists(checks, max_size=2, unique_by=lambda c: mended(c["id"]))},
               id=texts)  # fmt: skip
tools = whole({}, waits=st.booleans()) | part(effect=st.none() | st.just("external"))
limits = part(quality=st.none() | st.floats(0, 1), patience=counts, time_budget_s=st.floats(0, 9),
              max_iterations=counts, watchdog_s=st.none() | st.floats(0, 1e6))  # fmt: skip
recorded = part(exit_reason=st.none() | reasons, exit_reason_source=st.just("inferred"),
                outcome=maybe, limits=objects)  # fmt: skip
truths = whole(
    {"reasons": st.lists(reasons, max_size=2), "by": counts, "not_before": counts,
     "warn_ok": st.booleans(), "contestable": st.booleans(), "why": texts},
    verdict=st.sampled_from(["continue", "warn", "stop", "pause", "success"]),
)  # fmt: skip
expectations = whole({"iteration": st.none() | st.integers(1, 9)}, exit_reason=reasons)
branches = st.dictionaries(st.sampled_from(["switch_strategy", "delegate"]),
                           st.lists(st.lists(steps, max_size=2), max_size=2))  # fmt: skip
scenarios = whole(
    {"title": texts, "source": maybe, "tags": st.lists(texts, max_size=2),
     "direction": st.sampled_from(["higher", "lower"]),
     "score_scale": st.none() | st.just([0, 1]) | st.just([-1.5, 2]),
     "tools": st.none() | st.dictionaries(texts, tools, max_size=2) | st.lists(texts, max_size=2),
     "capabilities": st.lists(texts, max_size=2), "content_captured": st.booleans(),
     "completion_marker": st.none() | texts | objects,
     "limits": limits,
     "phases": st.lists(phases, max_size=2, unique_by=lambda phase: mended(phase["id"])),
     "init": st.none() | part(perception=maybe), "branches": branches,
     "spare": st.lists(texts, max_size=2), "recorded": recorded, "truth": st.none() | truths,
     "expect": st.dictionaries(texts, expectations, max_size=2)},
    schema=st.just("harness/scenario@1"), id=names, goal=texts,
    steps=st.lists(steps, min_size=1, max_size=3),
)  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "model"),
    [(steps, Step), (limits, Limits), (recorded, Recorded), (truths, Truth)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_strategies_know_the_whole_format(strategy: Any, model: Any) -> None:
    known = set(strategy.wrapped_strategy.optional) | set(strategy.wrapped_strategy.mapping)
    missing = set(model.model_fields) - known
    rest = {"stagnation_window", "min_delta", "max_rounds", "token_budget", "cost_budget_usd",
            "tool_budget", "spin", "oscillation", "parse_failures"}  # fmt: skip
    assert missing <= rest


def test_the_strategy_knows_every_key_of_a_scenario() -> None:
    inner = scenarios.wrapped_strategy
    known = {*inner.optional, *inner.mapping}
    fields = {field.alias or name for name, field in Scenario.model_fields.items()}
    assert fields - known == {"generate"}
    kinds = {get_args(check.model_fields["kind"].annotation)[0]
             for check in (ScriptCheck, FileCheck, GlobCheck, ConfirmationCheck)}  # fmt: skip
    assert kinds == {"script", "file_exists", "file_glob_count", "user_confirmation"}


@settings(max_examples=150)
@given(scenarios)
def test_a_scenario_is_the_same_in_every_form(data: dict[str, Any]) -> None:
    scenario = Scenario.model_validate(mended(data))
    wanted = scenario.model_dump()
    for form, found in as_files(plain(scenario)).items():
        assert found.model_dump() == wanted, form
        assert found.content_hash == scenario.content_hash


@settings(max_examples=60)
@given(scenarios)
def test_a_recording_is_the_same_data_in_every_form(data: dict[str, Any]) -> None:
    assert json.loads(line_of(data)) == held(data)
    assert load_yaml(yaml_of(data), "x") == held(data)


@settings(max_examples=40)
@given(scenarios, st.sampled_from(["balanced", "strict", "engine", "observe"]))
def test_it_replays_the_same(data: dict[str, Any], preset: str) -> None:
    under = load_preset(preset)
    scenario = Scenario.model_validate(mended(data))
    for found in as_files(plain(scenario)).values():
        assert seen(found, under) == seen(scenario, under)


@pytest.mark.parametrize("text", AWKWARD, ids=ascii)
def test_awkward_text(text: str) -> None:
    data = {"schema": "harness/scenario@1", "id": "a/b", "goal": text,
            "steps": [{"calls": [{"tool": "t", "args": {text: [text, {text: None}]}}],
                       "writes": [text], "roles": {text: [text]}}]}  # fmt: skip
    for form in as_files(data).values():
        assert form.model_dump() == Scenario.model_validate(mended(data)).model_dump()


def test_the_lone_half_of_a_pair_is_the_one_thing_that_no_file_holds() -> None:
    data = {"schema": "harness/scenario@1", "id": "a/b", "goal": "x\ud83dy", "steps": [{}]}
    assert {form.goal for form in as_files(data).values()} == {"x\N{REPLACEMENT CHARACTER}y"}


def test_what_only_python_has_becomes_what_a_replay_compares() -> None:
    args = {"at": 1, 2: (True, None)}
    data = {"schema": "harness/scenario@1", "id": "a/b", "goal": "g",
            "steps": [step(call("t", args))]}  # fmt: skip
    before = prepare(Scenario.model_validate(data)).trunk[0].calls[0]
    for form in as_files(data).values():
        assert prepare(form).trunk[0].calls[0] == before


def test_every_bundled_scenario() -> None:
    for number, scenario in enumerate(load([bundled_scenarios()])):
        data = plain(scenario)
        # YAML takes long to read, so every fifth.
        found = (
            as_files(data).values() if number % 5 == 0 else [read_text(line_of(data), "x.jsonl")]
        )
        assert all(each.model_dump() == scenario.model_dump() for each in found)


def test_a_family_stays_a_family() -> None:
    data = {"schema": "harness/scenario@1", "id": "made/plateau", "goal": "g",
            "generate": {"process": "plateau", "n": 3, "seed": 7}}  # fmt: skip
    members = list(parse(Raw("x.yaml", 1, yaml_of(plain(Scenario.model_validate(data))))))
    assert len(members) == Generate.model_validate(data["generate"]).n
    assert members == list(parse(Raw("x.jsonl", 1, line_of(data))))


#: What a person may write in YAML, and what it is read as: what JSON could have held.
WRITTEN = {
    "at: 2026-01-02": {"at": "2026-01-02"},
    "at: 2026-01-02T03:04:05Z": {"at": "2026-01-02T03:04:05Z"},
    "1: a\n1e3: b\nyes: c\nnull: d": {"1": "a", "1e3": "b", "yes": "c", "null": "d"},
    "{2026-01-02: 1, <<: {1: 2}}": {"2026-01-02": 1, "1": 2},
    "n: 1e3\no: 0o17\nx: 0x1F\nb: yes": {"n": 1000.0, "o": 15, "x": 31, "b": "yes"},
}


@pytest.mark.parametrize("text", WRITTEN)
def test_yaml_is_read_as_what_json_has(text: str) -> None:
    found = load_yaml(text, "x.yaml")
    assert found == WRITTEN[text]
    assert json.loads(json.dumps(found)) == found


def test_keys_that_become_equal_are_used_twice() -> None:
    with pytest.raises(ScenarioError, match='duplicate key "1"'):
        load_yaml("1: a\n'1': b\n", "x.yaml")


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")], ids=str)
def test_a_number_that_json_does_not_have_is_its_name(number: float) -> None:
    made = [step(call("t", {"at": value}), roles={"verifier": {"score": value}})
            for value in (number, json.dumps(number), None)]  # fmt: skip
    odd, named, empty = (
        Scenario.model_validate(
            {"schema": "harness/scenario@1", "id": "a/b", "goal": "g", "steps": [each]}
        )
        for each in made
    )
    assert odd == named
    assert odd.content_hash == named.content_hash != empty.content_hash
    for form, found in as_files({**plain(odd), "steps": [made[0]]}).items():
        assert found == odd, form
