"""The importer of the ReAct notebooks' WebShop and FEVER runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import _reading, recordings

FORMAT = "react"
Write = Callable[..., Path]
Refused = Callable[[Path], str]


def shop(*steps: tuple[str, str], score: float | None = None, number: int = 5) -> dict[str, Any]:
    rows = [{"action": action, "observation": observation} for action, observation in steps]
    return {"id": number, "instruction": "a blue kettle", "score": score, "steps": rows}


def claim(*steps: tuple[str | None, str, str | None], reward: int = 0) -> dict[str, Any]:
    rows = [dict(zip(("thought", "action", "observation"), step, strict=True)) for step in steps]
    return {
        "idx": 81,
        "claim": "Kettles are blue.",
        "gt": "REFUTES",
        "reward": reward,
        "steps_reported": len(rows),
        "steps": rows,
    }


BOUGHT = ("click[Buy Now]", "Your score (min 0.0, max 1.0): 0.75\n\n6 0.6 0.2 0.0\n-------------")
FINISH = ("Sure.", "Finish[REFUTES]", "Episode finished, reward = 1")


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def test_a_webshop_run_becomes_steps(write_lines: Write) -> None:
    run = shop(
        ("search[blue kettle]", "Page 1"),
        ("think[The first one will do.]", "OK."),
        ("think[Cut off in the", "OK."),
        ("click[Red]", "Invalid action!"),
        ("kettle please", "Invalid action!"),
        BOUGHT,
        score=0.75,
    )
    (recording,) = read(write_lines(run))
    failed = {"result": "Invalid action!", "ok": False}
    assert recording == {
        "schema": "harness/scenario@1",
        "id": "react/webshop/005",
        "title": "WebShop run 5",
        "source": "react:runs.jsonl",
        "goal": "a blue kettle",
        "tags": ["react", "webshop", "score:0.75"],
        "tools": ["click", "search"],
        "steps": [
            {
                "calls": [
                    {
                        "tool": "search",
                        "args": {"input": "blue kettle"},
                        "result": "Page 1",
                        "ok": True,
                    }
                ]
            },
            {"reply": {"text": "The first one will do."}},
            {"reply": {"text": "Cut off in the"}},
            {"calls": [{"tool": "click", "args": {"input": "Red"}, **failed}]},
            {"calls": [{"tool": "unparsed", "args": {"input": "kettle please"}, **failed}]},
            {
                "calls": [
                    {
                        "tool": "click",
                        "args": {"input": "Buy Now"},
                        "result": "Your score (min 0.0, max 1.0): 0.75",
                        "ok": True,
                    }
                ],
                "score": 0.75,
            },
        ],
        "recorded": {"exit_reason": "agent_finished", "outcome": "success"},
    }


LOOK = ("search[kettle]", "Page 1")
UNSCORED = ("click[Buy Now]", "6 0.6 0.2 0.0\n-------------")
FINISHED = {"exit_reason": "agent_finished"}
OUT_OF_STEPS = {"exit_reason": "max_iterations", "limits": {"max_iterations": 14}}
INFERRED = {"exit_reason_source": "inferred"}
NO_SALE = ("click[Buy Now]", "Invalid action!\n\n6 0.6 0.2 0.0\n-------------")


@pytest.mark.parametrize(
    ("steps", "score", "recorded"),
    [
        ([LOOK, BOUGHT], 1, {**FINISHED, "outcome": "success"}),
        ([LOOK, BOUGHT], 0.5, {**FINISHED, "outcome": "success"}),
        ([LOOK, BOUGHT], 0.49, {**FINISHED, "outcome": "failure"}),
        ([LOOK, BOUGHT], 0.0, {**FINISHED, "outcome": "failure"}),
        ([LOOK, UNSCORED], None, {**FINISHED, **INFERRED, "outcome": "failure"}),
        ([LOOK] * 13 + [UNSCORED], None, {**FINISHED, **INFERRED, "outcome": "failure"}),
        ([LOOK] * 14, None, {**OUT_OF_STEPS, **INFERRED, "outcome": "failure"}),
        ([LOOK] * 13 + [NO_SALE], None, {**OUT_OF_STEPS, **INFERRED, "outcome": "failure"}),
        ([LOOK] * 13, None, {"outcome": "failure"}),
    ],
)
def test_how_a_webshop_run_ended(
    write_lines: Write, steps: list[tuple[str, str]], score: float | None, recorded: dict[str, Any]
) -> None:
    (recording,) = read(write_lines(shop(*steps, score=score)))
    assert recording["recorded"] == recorded
    tag = "score:none" if score is None else f"score:{score:.2f}"
    assert recording["tags"] == ["react", "webshop", tag]
    assert recording["steps"][-1].get("score") == score
    assert "----" not in json.dumps(recording)


def test_a_fever_run_becomes_steps(write_lines: Write) -> None:
    run = claim(
        ("I look it up.", "Search[Kettle]", "Could not find [Kettle]."),
        ("Hm.", "Login", "Invalid action: login"),
        ("Lost.", "", "Invalid action: Lookup[blue]"),
        FINISH,
        reward=1,
    )
    (recording,) = read(write_lines(run))
    assert recording["id"] == "react/fever/81"
    assert recording["goal"] == "Kettles are blue."
    assert recording["tags"] == ["react", "fever"]
    assert recording["tools"] == ["Finish", "Lookup", "Search"]
    assert recording["recorded"] == {"exit_reason": "agent_finished", "outcome": "success"}
    assert [step["reply"]["text"] for step in recording["steps"]] == [
        "I look it up.",
        "Hm.",
        "Lost.",
        "Sure.",
    ]
    calls = [step["calls"][0] for step in recording["steps"]]
    assert [(call["tool"], call["args"]["input"], call["ok"]) for call in calls] == [
        ("Search", "Kettle", True),
        ("unparsed", "Login", False),
        ("unparsed", "Lookup[blue]", False),
        ("Finish", "REFUTES", True),
    ]
    assert [step.get("score") for step in recording["steps"]] == [None, None, None, 1.0]


def test_a_fever_turn_in_two_rows_is_one_step(write_lines: Write) -> None:
    run = claim(
        ("I look it up.", "Search[Kettle]", "A vessel."),
        ("I give up.", "", "Episode finished, reward = 0"),
        (None, "Finish[REFUTES]", None),
    )
    (recording,) = read(write_lines(run))
    assert recording["steps"][1:] == [
        {
            "reply": {"text": "I give up."},
            "calls": [
                {
                    "tool": "Finish",
                    "args": {"input": "REFUTES"},
                    "result": "Episode finished, reward = 0",
                    "ok": True,
                }
            ],
            "score": 0.0,
        }
    ]


@pytest.mark.parametrize(("length", "reason"), [(7, "max_iterations"), (6, None)])
def test_a_fever_run_without_an_answer_has_no_score(
    write_lines: Write, length: int, reason: str | None
) -> None:
    step = ("Again.", "Lookup[blue]", "No more results.")
    (recording,) = read(write_lines(claim(*[step] * length)))
    assert recording["recorded"].get("exit_reason") == reason
    assert recording["recorded"]["outcome"] == "failure"
    assert all("score" not in step for step in recording["steps"])


def test_both_kinds_in_one_file_and_unique_ids(write_lines: Write) -> None:
    path = write_lines(shop(LOOK), "", claim(FINISH), shop(LOOK))
    ids = [recording["id"] for recording in read(path)]
    assert ids == ["react/webshop/005", "react/fever/81", "react/webshop/005-2"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": 1, "instruction": "a', "not JSON: Unterminated string"),
        ("[1, 2]", "expected a WebShop run (key 'instruction') or a FEVER run (key 'claim')"),
        ({"question": "?"}, "found ['question']"),
        ({**shop(LOOK), "steps": []}, "key 'steps' is an empty list"),
        ({**shop(LOOK), "steps": [7]}, "step 1: expected an object with key 'action', found 7"),
        ({**shop(LOOK), "steps": [{"act": "x"}]}, "step 1: key 'action' is missing"),
        ({**shop(LOOK), "score": "high"}, "key 'score' must be a number, found 'high'"),
        ({**shop(LOOK), "id": None}, "key 'id' must be a whole number, found None"),
        ({"id": 1, "instruction": "x", "steps": [{}]}, "key 'score' is missing"),
        ({**claim(FINISH), "reward": None}, "key 'reward' must be a number, found None"),
        ({**claim(FINISH), "steps": [None]}, "step 1: expected an object with key 'thought'"),
        ({**claim(FINISH), "steps": [{"thought": "x"}]}, "step 1: key 'action' is missing"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(shop(LOOK), line))
    assert ": line 2" in message
    assert words in message


def test_broken_files_are_refused(
    write_lines: Write, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the file is empty" in refused(write_lines("", " "))
    assert "cannot be read: No such file" in refused(tmp_path / "absent.jsonl")
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", 50)
    assert "line 1: a line may hold at most 50 bytes" in refused(write_lines(shop(LOOK)))


# The recorded runs


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def webshop(corpora: Path) -> Path:
    return corpora / "react_webshop_fever" / "derived_webshop.jsonl"


@pytest.fixture(scope="module")
def fever(corpora: Path) -> Path:
    return corpora / "react_webshop_fever" / "derived_fever.jsonl"


def test_counts_of_the_webshop_runs(webshop: Path) -> None:
    source, recordings = lines(webshop), read(webshop)
    assert len(recordings) == len(source) == 500
    assert len({recording["id"] for recording in recordings}) == 500
    steps = [step for recording in recordings for step in recording["steps"]]
    rows = [row for run in source for row in run["steps"]]
    assert len(steps) == len(rows) == 3437
    thoughts = sum(row["action"].startswith("think[") for row in rows)
    assert sum("calls" not in step for step in steps) == thoughts == 1089
    calls = [call for step in steps for call in step.get("calls", ())]
    invalid = sum(row["observation"].startswith("Invalid action!") for row in rows)
    assert sum(not call["ok"] for call in calls) == invalid == 310
    ends = Counter(
        (recording["recorded"]["exit_reason"], recording["recorded"]["outcome"])
        for recording in recordings
    )
    assert ends == {
        ("agent_finished", "success"): 367,
        ("agent_finished", "failure"): 93 + 5,  # five purchases got no score
        ("max_iterations", "failure"): 35,
    }
    assert sum("score:none" in recording["tags"] for recording in recordings) == 40
    scores = [recording["steps"][-1].get("score") for recording in recordings]
    assert scores == [run["score"] for run in source]


def test_counts_of_the_fever_runs(fever: Path) -> None:
    source, recordings = lines(fever), read(fever)
    assert len(recordings) == len(source) == 500
    assert len({recording["id"] for recording in recordings}) == 500
    ends = Counter(
        (recording["recorded"]["exit_reason"], recording["recorded"]["outcome"])
        for recording in recordings
    )
    assert ends == {
        ("agent_finished", "success"): 270,
        ("agent_finished", "failure"): 221,
        ("max_iterations", "failure"): 9,
    }
    assert sum(run["reward"] for run in source) == 270
    # The notebook counted its own closing answer as a step where the agent gave none.
    for run, recording in zip(source, recordings, strict=True):
        own = recording["recorded"]["exit_reason"] == "agent_finished"
        assert len(recording["steps"]) == run["steps_reported"] - (0 if own else 1)
    calls = [
        call for recording in recordings for call in recording["steps"] for call in call["calls"]
    ]
    assert Counter(call["tool"] for call in calls) == {
        "Search": 530,
        "Finish": 491,
        "Lookup": 217,
        "unparsed": 12,
    }
