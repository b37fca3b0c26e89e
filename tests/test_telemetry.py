"""Spans of an episode: deterministic ids, virtual times, names and status."""

from __future__ import annotations

import pytest
from opentelemetry.trace import StatusCode

from harness import conventions as names
from harness.guards.max_iterations import MaxIterations
from harness.guards.quality import Quality
from harness.guards.spin import Spin
from harness.ids import episode_id, span_ids, trace_id
from harness.otlp import otlp_wanted
from harness.telemetry import Projector
from tests.examples import PRICED, call, preset, run, scored, step

START_NS = 1_700_000_000_000_000_000
OBSERVE = preset(observe=True)


def spans(episode, identity="e1"):
    return Projector("0").project(episode, identity, START_NS).spans


def times(episode):
    """Name, start and end in ms since the episode began."""
    return [
        (s.name, (s.start_time - START_NS) / 1e6, (s.end_time - START_NS) / 1e6)
        for s in spans(episode)
    ]


def one(episode, name):
    """Attributes of the only span of this name."""
    (found,) = [span for span in spans(episode) if span.name == name]
    return dict(found.attributes)


# -- ids -------------------------------------------------------------------------------------


def test_the_same_episode_has_the_same_ids():
    episode = run([step(call("read"), ms=1), step(ms=2)], OBSERVE)
    first, second, other = (
        [(s.context.trace_id, s.context.span_id) for s in spans(episode, identity)]
        for identity in ("e1", "e1", "e2")
    )
    assert first == second
    assert not set(first) & set(other)


def test_ids_are_those_of_the_run_and_its_work():
    assert episode_id("run-1", "pair") == episode_id("run-1", "pair")
    assert len({episode_id(r, p) for r in ("run-1", "run-2") for p in ("a", "b")}) == 4


def test_ten_thousand_span_ids_are_different_and_never_zero():
    ids = span_ids("e1")
    taken = [ids.take() for _ in range(10_000)]
    assert len(set(taken)) == 10_000
    assert min(taken) > 0
    assert max(taken) < 2**64


def test_ids_of_ten_thousand_episodes_are_different_and_never_zero():
    traces = {trace_id(f"e{n}") for n in range(10_000)}
    starts = {span_ids(f"e{n}").take() for n in range(10_000)}
    assert (len(traces), len(starts)) == (10_000, 10_000)
    assert min(traces) > 0
    assert min(starts) > 0
    assert max(traces) < 2**128


@pytest.mark.parametrize("start", [2**64 - 2, 2**64 - 1])
def test_a_count_that_wraps_around_skips_zero(start):
    ids = type(span_ids("e1"))(start)
    assert all(ids.take() for _ in range(3))


# -- tree, names and kinds -------------------------------------------------------------------

TREE = run([step(call("read"), call("run"), model=PRICED, ms=5), step(text="Done.", ms=5)], OBSERVE)


def test_an_episode_is_a_tree_of_named_spans():
    by_id = {span.context.span_id: span.name for span in spans(TREE)}
    tree = [(s.name, by_id[s.parent.span_id] if s.parent else None) for s in spans(TREE)]
    expected = [
        ("chat gpt-4o-mini", "harness.iteration"),
        ("execute_tool read", "harness.iteration"),
        ("execute_tool run", "harness.iteration"),
        ("harness.iteration", "invoke_agent examples/one"),
        ("chat", "harness.iteration"),
        ("harness.iteration", "invoke_agent examples/one"),
        ("invoke_agent examples/one", None),
    ]
    assert expected == tree


def test_only_model_calls_leave_the_process():
    kinds = {span.name.split(" ")[0]: span.kind.name for span in spans(TREE)}
    inside = dict.fromkeys(["execute_tool", "harness.iteration", "invoke_agent"], "INTERNAL")
    assert kinds == inside | {"chat": "CLIENT"}


def test_spans_say_which_conventions_they_follow():
    scopes = [span.instrumentation_scope for span in spans(TREE)]
    assert {(scope.name, scope.schema_url) for scope in scopes} == {("harness", names.SCHEMA_URL)}


# -- tokens, money, errors -------------------------------------------------------------------


def test_input_tokens_include_cached_ones_and_output_reasoning():
    usage = {"input": 1, "cache_read": 20, "cache_write": 300, "output": 4000, "reasoning": 50000}
    chat = one(run([step(model=PRICED, usage=usage, finish_reason="stop")], OBSERVE),
               f"chat {PRICED}")  # fmt: skip
    tokens = {k.removeprefix("gen_ai.usage."): v for k, v in chat.items() if "usage" in k}
    assert tokens == {
        "input_tokens": 321,
        "output_tokens": 54000,
        "cache_read.input_tokens": 20,
        "cache_creation.input_tokens": 300,
        "reasoning.output_tokens": 50000,
    }
    assert chat["gen_ai.response.finish_reasons"] == ("stop",)


def test_what_is_unknown_is_left_out():
    chat = one(run([step(model="no-such-model")], OBSERVE), "chat no-such-model")
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "no-such-model",
        "harness.role": "actor",
        "harness.time_known": False,
    }


def test_a_price_makes_a_cost_in_pico_usd():
    chat = one(run([step(model=PRICED, usage={"output": 2})], OBSERVE), f"chat {PRICED}")
    assert chat["harness.cost_pico_usd"] == 1_200_000


def test_a_reply_that_never_came_names_its_error():
    chat = one(run([{"reply": {"error": "timeout"}}], OBSERVE), "chat")
    assert chat["error.type"] == "timeout"


# -- virtual times ---------------------------------------------------------------------------

TIMES = {
    "calls run side by side after the reply": (
        [step(call("a", ms=20), call("b", ms=50), ms=100)],
        [("chat", 0, 100), ("execute_tool a", 100, 120), ("execute_tool b", 100, 150),
         ("harness.iteration", 0, 150), ("invoke_agent examples/one", 0, 150)],
    ),
    "an iteration ends with its idle time, and the next one begins": (
        [step(call("a", ms=20), ms=100, idle_ms=30), step(ms=10)],
        [("chat", 0, 100), ("execute_tool a", 100, 120), ("harness.iteration", 0, 150),
         ("chat", 150, 160), ("harness.iteration", 150, 160),
         ("invoke_agent examples/one", 0, 160)],
    ),
    "an unknown time has no length, and its parents span what is known": (
        [step(call("a"), call("b", ms=50), ms=100), step(call("a", ms=7)), step(ms=1)],
        [("chat", 0, 100), ("execute_tool a", 100, 100), ("execute_tool b", 100, 150),
         ("harness.iteration", 0, 150), ("chat", 150, 150), ("execute_tool a", 150, 157),
         ("harness.iteration", 150, 157), ("chat", 157, 158), ("harness.iteration", 157, 158),
         ("invoke_agent examples/one", 0, 158)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TIMES)
def test_times(case):
    steps, expected = TIMES[case]
    assert expected == times(run(steps, OBSERVE))


def test_unknown_times_are_flagged():
    episode = run([step(call("a"), ms=5), step(call("b", ms=5), ms=5)], OBSERVE)
    known = [
        (s.name, s.attributes[names.TIME_KNOWN])
        for s in spans(episode)
        if names.TIME_KNOWN in s.attributes
    ]
    expected = [
        ("chat", True), ("execute_tool a", False), ("harness.iteration", False),
        ("chat", True), ("execute_tool b", True), ("harness.iteration", True),
    ]  # fmt: skip
    assert expected == known


# -- status ----------------------------------------------------------------------------------

SAME = [step(call("read", {"path": "a"}, "text")) for _ in range(3)]
STATUS = {
    "a limit": (SAME, {"max_iterations": MaxIterations(threshold=2, on_fire="stop")}, "ERROR"),
    "stuck": (SAME, {"spin": Spin(threshold=3)}, "ERROR"),
    "paused": (SAME, {"max_iterations": MaxIterations(threshold=2, on_fire="pause")}, "ERROR"),
    "success": (scored(0.9), {"quality": Quality()}, "UNSET"),
    "not decided": (SAME, {}, "UNSET"),
}


@pytest.mark.parametrize("case", STATUS)
def test_an_end_without_success_is_an_error_with_its_message(case):
    steps, guards, status = STATUS[case]
    episode = run(steps, preset(**guards))
    *others, root = spans(episode)
    message = episode.message if status == "ERROR" else None
    assert (root.status.status_code, root.status.description) == (StatusCode[status], message)
    assert {span.status.status_code for span in others} == {StatusCode.UNSET}


# -- where spans go --------------------------------------------------------------------------

URL = "http://127.0.0.1:4318"
WANTED = {
    "nothing set": ({}, False),
    "an endpoint": ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL}, True),
    "an endpoint for traces": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}, True),
    "switched off": (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_SDK_DISABLED": "TRUE"}, False),
    "no exporter": ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_TRACES_EXPORTER": "none"}, False),
    "one of several": (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_TRACES_EXPORTER": "console, otlp"}, True),
}  # fmt: skip


@pytest.mark.parametrize("case", WANTED)
def test_the_standard_variables_say_where_spans_go(case, monkeypatch):
    variables, expected = WANTED[case]
    for name in {name for others, _ in WANTED.values() for name in others}:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert otlp_wanted() is expected


SERVICE = {
    "harness": {},
    "mine": {"OTEL_SERVICE_NAME": "mine"},
    "theirs": {"OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs,team=loops"},
}


@pytest.mark.parametrize("name", SERVICE)
def test_the_service_is_what_the_variables_say(name, monkeypatch):
    for variable, value in SERVICE[name].items():
        monkeypatch.setenv(variable, value)
    assert {span.resource.attributes["service.name"] for span in spans(TREE)} == {name}
