"""The scenario format: impossible values, and messages that say where and what is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.files import Raw, parse
from harness.scenario import Scenario, json_schema
from harness.task import MAX_DEPTH
from tests.examples import call, run, step
from tests.examples import preset as preset_of

HEAD: dict[str, Any] = {"schema": "harness/scenario@1", "id": "a/b", "goal": "Write."}
STEPS: dict[str, Any] = {"steps": [{"score": 0.5}]}


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _checks(*checks: dict[str, Any]) -> dict[str, Any]:
    return STEPS | {"phases": [{"id": "p", "checks": list(checks)}]}


def _step(**fields: Any) -> dict[str, Any]:
    return {"steps": [{}, fields]}


def _usage(**tokens: Any) -> dict[str, Any]:
    return _step(reply={"usage": tokens})


def _ended(reason: str) -> dict[str, Any]:
    return STEPS | {"expect": {"cost": {"exit_reason": reason}}}


# Fields of a scenario, and what its error says after "scenario".
BAD: dict[str, tuple[dict[str, Any], str]] = {
    # -- unknown keys, at every depth
    "key": (STEPS | {"titel": 1}, ".titel: unknown key, found 'titel' (did you mean 'title'?)"),
    "step": (_step(replly={}), ".steps[1].replly: unknown key, found 'replly' (did you mean 're"),
    "reply": (_step(reply={"txt": ""}), ".steps[1].reply.txt: unknown key, found 'txt' (did you "),
    "usage": (_usage(inputs=1), ".steps[1].reply.usage.inputs: unknown key, found 'inputs' (did"),
    "call": (_step(calls=[{"tool": "t", "arg": 1}]), ".steps[1].calls[0].arg: unknown key, found"),
    "score": (_step(score={"pased": 1, "total": 2}), ".steps[1].score.pased: unknown key, found "),
    "handler": (_step(handler={"exits": True}), ".steps[1].handler.exits: unknown key, found 'ex"),
    "tool": (STEPS | {"tools": {"t": {"wait": True}}}, ".tools.t.wait: unknown key, found 'wait'"),
    "limit": (STEPS | {"limits": {"max_round": 1}}, ".limits.max_round: unknown key, found 'max_r"),
    "check": (_checks({"id": "c", "kind": "script", "comand": "x"}),
              ".phases[0].checks[0].comand: unknown key, found 'comand' (did you mean 'command'?)"),
    "branch": (STEPS | {"branches": {"delegate": [[{"scores": 1}]]}},
               ".branches.delegate[0][0].scores: unknown key, found 'scores' (did you mean 'score"),
    "truth": (STEPS | {"truth": {"verdict": "stop", "reason": []}}, ".truth.reason: unknown key,"),
    "expect": (STEPS | {"expect": {"cost": {"reason": "spin"}}}, ".expect.cost.reason: unknown k"),
    "generate": ({"generate": {"process": "spike", "n": 1, "sed": 1}}, ".generate.sed: unknown ke"),
    "odd key": (STEPS | {"a\x1b[31m": 1}, "['a\\x1b[31m']: unknown key, found 'a\\x1b[31m'; "),
    # -- names that are chosen from a list
    "schema": (STEPS | {"schema": "harness/scenario@2"}, ".schema: found 'harness/scenario@2' (di"),
    "direction": (STEPS | {"direction": "up"}, ".direction: found 'up'; choose from: higher, lowe"),
    "exit reason": (_ended("spinn"), ".expect.cost.exit_reason: found 'spinn' (did you mean 'spin"),
    "recorded": (STEPS | {"recorded": {"exit_reason": "x"}}, ".recorded.exit_reason: found 'x'; c"),
    "reasons": (STEPS | {"truth": {"verdict": "stop", "reasons": ["loop"]}}, ".truth.reasons[0]: "),
    "verdict": (STEPS | {"truth": {"verdict": "halt"}}, ".truth.verdict: found 'halt'; choose fro"),
    "kind of check": (_checks({"id": "c", "kind": "scrypt"}),
                      ".phases[0].checks[0].kind: found 'scrypt' (did you mean 'script'?)"),
    "kind of branch": (STEPS | {"branches": {"switch": []}}, ".branches.switch: found 'switch'; c"),
    "process": ({"generate": {"process": "up", "n": 1}}, ".generate.process: found 'up'; choose f"),
    # -- wrong types
    "no goal": (STEPS | {"goal": None}, ".goal: input should be a valid string, found None"),
    "id": (STEPS | {"id": 7}, ".id: input should be a valid string, found 7"),
    "long id": (STEPS | {"id": "x" * 301}, ".id: string should have at most 300 characters, found"),
    "no id": (STEPS | {"id": ""}, ".id: string should have at least 1 character, found ''"),
    "steps": ({"steps": {"a": 1}}, ".steps: input should be a valid list, found {'a': 1}"),
    "score in words": (_step(score="high"), ".steps[1].score: input should be a valid number, fou"),
    "score of truth": (_step(score=True), ".steps[1].score: input should be a valid number, found"),
    "ok in words": (_step(calls=[{"tool": "t", "ok": "yes"}]), ".steps[1].calls[0].ok: input shou"),
    "broken tokens": (_usage(input=1.5), ".steps[1].reply.usage.input: input should be a valid in"),
    "tokens as text": (_usage(input="3"), ".steps[1].reply.usage.input: input should be a valid i"),
    "role's reply": (_step(roles={"judge2": {"text": 5}}), ".steps[1].roles.judge2: as a reply, t"),
    "judge's error": (_step(judge={"error": 5}), ".steps[1].judge: as a reply, error: input shoul"),
    # -- impossible values
    "nothing": ({}, ": needs either 'steps' (at least one) or 'generate'"),
    "no steps": ({"steps": []}, ": needs either 'steps' (at least one) or 'generate'"),
    "both": (STEPS | {"generate": {"process": "spike", "n": 1}}, ": needs either 'steps' (at leas"),
    "none": ({"generate": {"process": "spike", "n": 0}}, ".generate.n: input should be greater th"),
    "negative": (_usage(output=-1), ".steps[1].reply.usage.output: input should be greater than o"),
    "negative time": (_step(idle_ms=-1), ".steps[1].idle_ms: input should be greater than or equa"),
    "NaN": (_step(score=float("nan")), ".steps[1].score: input should be a finite number, found n"),
    "infinite": (_step(score=float("inf")), ".steps[1].score: input should be a finite number, fo"),
    "huge score": (_step(score=1e308), ".steps[1].score: input should be less than or equal to 10"),
    "off the scale": (_step(score=7) | {"score_scale": [0, 1]},
                      ".steps[1].score: 7 lies outside score_scale, which is 0 to 1"),
    "branch off the scale": (
        STEPS | {"score_scale": [0, 1], "branches": {"delegate": [[{}], [{}, {"score": -1}]]}},
        ".branches.delegate[1][1].score: -1 lies outside score_scale, which is 0 to 1",
    ),
    "falling scale": (STEPS | {"score_scale": [1, 0]}, ".score_scale: must rise from low to high"),
    "scale of three": (STEPS | {"score_scale": [0, 1, 2]}, ".score_scale: list should have at mos"),
    "passed": (_step(score={"passed": 8, "total": 7}), ".steps[1].score.passed: 8 is more than to"),
    "of none": (_step(score={"passed": 0, "total": 0}), ".steps[1].score.total: input should be g"),
    "phase twice": (STEPS | {"phases": [{"id": "p"}, {"id": "p"}]}, ".phases[1].id: 'p' is used t"),
    "check twice": (_checks(*[{"id": "c", "kind": "user_confirmation"}] * 2),
                    ".phases[0].checks[1].id: 'c' is used twice"),
    "window": (STEPS | {"limits": {"stagnation_window": 0}}, ".limits.stagnation_window: input sh"),
    "no limit": (STEPS | {"limits": {"quality": float("nan")}}, ".limits.quality: input should be"),
    "endless": (STEPS | {"limits": {"time_budget_s": 1e308}}, ".limits.time_budget_s: input shoul"),
    "huge tokens": (_usage(input=10**30), ".steps[1].reply.usage.input: input should be less than"),
    "huge time": (_step(reply={"ms": 10**20}), ".steps[1].reply.ms: input should be less than or "),
    "huge code": (_step(calls=[{"tool": "t", "exit_code": 2**63}]), ".steps[1].calls[0].exit_code"),
    "huge sum": ({"steps": [{"reply": {"usage": {"input": 10**10}}}] * 2},
                 ".steps[1]: brings the sums to 20,000,000,000 tokens and 0 ms; at most"),
    "huge time in all": ({"steps": [{"idle_ms": 10**12}, {"calls": [{"tool": "t", "ms": 1}]}]},
                         ".steps[1]: brings the sums to 0 tokens and 1,000,000,000,001 ms; at mos"),
    "deep": (_step(calls=[{"tool": "t", "args": _nested(MAX_DEPTH + 1)}]),
             ".steps[1].calls[0].args: is nested more than 100 levels deep"),
    "digits": (_step(calls=[{"tool": "t", "args": 10**4000}]), ".steps[1].calls[0].args: an integ"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refuses(case: str) -> None:
    fields, words = BAD[case]
    with pytest.raises(ScenarioError) as error:
        list(parse(Raw("x.jsonl", 3, json.dumps(HEAD | fields))))
    message = str(error.value)
    assert message.startswith(f"x.jsonl:3: scenario{words}")
    assert len(message) < 900
    assert message.isprintable()


def test_further_findings_are_counted() -> None:
    fields = {"steps": [{"score": "a"}, {"score": "b"}, {"idle_ms": -1}]}
    with pytest.raises(ScenarioError, match=r"score: .*found 'a'|idle_ms.*\(\+2 more\)$"):
        list(parse(Raw("x.jsonl", 1, json.dumps(HEAD | fields))))


@pytest.mark.parametrize(
    "fields",
    [
        _step(calls=[{"tool": "t", "args": _nested(MAX_DEPTH - 1)}]),
        _usage(input=10**10),
        _step(idle_ms=10**12),
        _step(score=1e12),
        _step(score=1) | {"score_scale": [-1, 1]},
        _step(judge={"error": "timeout"}),
        _step(judge={"done": True, "reason": "x", "evidence": []}),
        _step(roles={"verifier": ["text", {"text": "x", "ms": 5}, {"satisfied": True}]}),
        STEPS | {"tools": ["a", "b"]},
        STEPS | {"tools": {"a": {"waits": True, "effect": "external"}}},
        STEPS | {"completion_marker": {"status": "done"}},
        STEPS | {"id": "; DROP TABLE runs;-- ../../etc/passwd"},
    ],
)
def test_accepts(fields: dict[str, Any]) -> None:
    assert Scenario.model_validate(HEAD | fields).content_hash


def test_the_largest_numbers_can_be_replayed() -> None:
    reply = {"model": "o1-pro", "ms": 10**12, "usage": {"output": 10**10}}
    extreme = {"quality": 1e12, "min_delta": 1e12, "time_budget_s": 1e12, "cost_budget_usd": 1e12}
    episode = run(
        [{"reply": reply, "score": -1e12}, step(score=1e12), step(score=1e-12)],
        preset_of(),
        limits=extreme | {"token_budget": 10**12, "stagnation_window": 10**12},
    )
    assert episode.best_score == 1e12


def test_content_hash_ignores_what_cannot_influence_a_replay() -> None:
    plain = Scenario.model_validate(HEAD | STEPS)
    told = Scenario.model_validate(
        HEAD | STEPS | _ended("spin") | {"title": "x", "tags": ["y"], "source": "z"}
    )
    other = Scenario.model_validate(HEAD | _step(calls=[call("read")]))
    assert plain.content_hash == told.content_hash
    assert plain.content_hash != other.content_hash


def test_json_schema_has_every_key() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {
        field.alias or name for name, field in Scenario.model_fields.items()
    }
    assert schema["additionalProperties"] is False
