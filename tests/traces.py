"""Random traces and random guards, for laws that hold for all of them.

Alphabets are tiny on purpose: what guards look for (repeats, swings, plateaus, equal errors)
then turns up by chance. A new guard needs nothing here as long as its parameters have types
that ``_values`` knows.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import reject
from hypothesis import strategies as st

from harness.guards import Guard, catalogue
from harness.trace import Evaluation
from tests.examples import PRICED, call, step

_LONG = "a result of more than forty characters, which stands for itself"
_CALLS = [
    call("read", {"path": "a"}, "text", ms=5),
    call("read", {"path": "a", "n": None}, _LONG, ms=9),
    call("read", {"path": "b"}, "text"),
    call("run", {"cmd": "make"}, "pid 71: ok", ms=700),
    call("run", {"cmd": "make"}, "pid 72: ok", ms=800),
    call("run", {"cmd": "make"}, "3 of 9", ms=800),
    call("run", None, "make: *** Error 2", exit_code=2, ms=30),
    call("run", {}, "trace\nKeyError: 'a'", ok=False, ms=30),
    call("run", {}, None, ok=False, ms=30),
    call("fetch", {"url": "x"}, "HTTP 503 Service Unavailable", ok=False, ms=90),
    call("fetch", {"url": "x"}, "killed", exit_code=124, ms=90),
    call("poll", {"id": 1}, "queued", ms=10),
    call("poll", {"id": 1}, "still running", ms=61_000),
]
_REPLIES = [
    {},
    {"text": "Hm."},
    {"text": "I will look at the log file now.", "ms": 900, "finish_reason": "stop"},
    {"text": 3 * "I will look at the log file now. ", "ms": 1000},
    {
        "text": "Done.",
        "ms": 1000,
        "model": PRICED,
        "usage": {"input": 100, "cache_read": 50, "output": 10},
        "finish_reason": "stop",
    },
    {"ms": 1000, "model": "no-such-model", "usage": {"input": 7, "output": 3, "reasoning": 1}},
]
_TEXTS = [None, None, "Draft one.", "Draft two.", "Draft two!", _LONG]
_SCORES = [None, None, 0, 0.14, 0.16, 0.18, 0.5, 0.85, 0.9, 1]
_WRITES = [None, None, [], ["a@1"], ["a@2"], ["a@1", "b"]]
_JUDGED = [
    None,
    Evaluation(score=0.6, score_source="judge", parsed=True, progress="some"),
    Evaluation(parsed=True, progress="none", evidence=("tests pass",)),
    Evaluation(parsed=False),
    Evaluation(failed=True),
]


@st.composite
def _step(draw: st.DrawFn, users: bool, judged: bool) -> dict[str, Any]:
    text = st.sampled_from(_TEXTS)
    return step(
        *draw(st.lists(st.sampled_from(_CALLS), max_size=2)),
        **draw(st.sampled_from(_REPLIES)),
        score=draw(st.sampled_from(_SCORES)),
        output=draw(text),
        feedback=draw(text),
        plan=draw(st.sampled_from([None, None, "Rewrite it."])),
        writes=draw(st.sampled_from(_WRITES)),
        idle_ms=draw(st.sampled_from([0, 0, 500])),
        user=draw(st.sampled_from([None, None, None, "Please go on."])) if users else None,
        judged=draw(st.sampled_from(_JUDGED)) if judged else None,
    )


def traces(
    *, users: bool = True, judged: bool = True, max_size: int = 10
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Steps of a scenario; ``judged`` ones can be measured, but not replayed."""
    return st.lists(_step(users, judged), min_size=1, max_size=max_size)


def scenario_fields() -> st.SearchStrategy[dict[str, Any]]:
    """What of a scenario's head guards depend on."""
    tools = st.sampled_from([None, [], ["read", "run"], {"poll": {"waits": True}}])
    return st.fixed_dictionaries(
        {"direction": st.sampled_from(["higher", "lower"]), "tools": tools}
    )


#: Thresholds on the scale of scores, counts, milliseconds, tokens and pico-USD.
THRESHOLDS = st.sampled_from([0, 0.02, 0.1, 0.5, 0.85, 1, 2, 3, 4, 150, 2000, 62_000, 21_000_000])


@st.composite
def guards(draw: st.DrawFn, kind: str, threshold: st.SearchStrategy[float] = THRESHOLDS) -> Guard:
    """Guards of one kind with any settings that it takes; ``on_fire`` is its default."""
    cls = catalogue()[kind]
    hints = get_type_hints(cls)
    names = [f.name for f in fields(cls) if f.name not in ("threshold", "on_fire")]
    values = {name: draw(_values(hints[name])) for name in names}
    try:
        return cls(threshold=draw(threshold), **values)
    except ValueError:
        reject()


def any_guard() -> st.SearchStrategy[Guard]:
    """Guards of any kind that holds no others."""
    plain = [k for k, cls in catalogue().items() if "guards" not in cls.__dataclass_fields__]
    return st.sampled_from(plain).flatmap(guards)


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if hint is int:
        return st.integers(1, 5)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        several = any_guard() if item is Guard else _values(item)
        unique = None if item is Guard else str
        return st.lists(several, min_size=1, max_size=3, unique_by=unique).map(tuple)
    raise NotImplementedError(f"random guards: no values for a parameter of type {hint}")
