"""A recording is found again, whatever secrets the environment of the replay knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from harness.record import Recorder
from harness.record.alike import Alike
from tests.openai_server import call, say, serving
from tests.record.agents import ask, client_of, recorded, result
from tests.record.test_modes import client

PASSWORD = "S3cretPw" + "99x"
HIDDEN = "[redacted client_key abcdef]"


def talk(asking: openai.OpenAI, header: dict[str, str]) -> list[str | None]:
    """The password is in the goal, in a result, in what a person says, and in the title."""
    start = [{"role": "user", "content": f"Fix postgres://app:{PASSWORD}@db, or {PASSWORD}."}]
    first = ask(asking, start, extra_headers=header)
    second = [*start, first, result(f"z {PASSWORD}", first["tool_calls"][0]["id"]),
              result("b", first["tool_calls"][1]["id"])]  # fmt: skip
    third = [*second, ask(asking, second, extra_headers=header),
             {"role": "user", "content": f"Is it {PASSWORD}?"}]  # fmt: skip
    return [third[-2].get("content"), ask(asking, third, extra_headers=header).get("content")]


@pytest.mark.parametrize("header", [{}, {"x-harness-episode": f"{PASSWORD}-nightly"}])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("now", [True, False])
def test_a_recording_is_found_whatever_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: dict[str, str], before: bool, now: bool
) -> None:
    path = tmp_path / "a.jsonl"

    def known(known: bool) -> None:
        monkeypatch.delenv("APP_PASSWORD", raising=False)
        if known:
            monkeypatch.setenv("APP_PASSWORD", PASSWORD)

    known(before)
    script = [say("", call("look", {}, "a"), call("look", {}, "b")), say("Looked."), say("It is.")]
    with serving(*script) as server, client_of(server, path) as asking:
        talk(asking, header)
    assert (PASSWORD in path.read_text()) is not before
    known(now)
    tape = Recorder(path, mode="none")
    with client(tape) as asking:
        assert talk(asking, header) == ["Looked.", "It is."]
    assert (tape.tally.answered, tape.tally.missed, tape.tally.drifted) == (3, [], [])


def test_a_miss_names_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    with serving(say("Done.")) as server, client_of(server, path) as asking:
        ask(asking, [{"role": "user", "content": f"Use {PASSWORD}."}])
    assert PASSWORD in recorded(path)[0].goal
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    for header in ({}, {"x-harness-episode": PASSWORD}):
        tape = Recorder(path, mode="none")
        with client(tape) as asking, pytest.raises(openai.NotFoundError):
            ask(asking, [{"role": "user", "content": f"Take {PASSWORD}."}], extra_headers=header)
        assert PASSWORD not in tape.tally.missed[0]


# Recorded, asked, whether these are the same; nothing is known beside ``known``.
@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("a", "a", True),
        (" a\n", "a", True),
        ("a", "b", False),
        ("", "", True),
        ("known", "known", True),
        ("known", "b", False),
        (f"x {HIDDEN} y", "x anything y", True),
        (f"x {HIDDEN} y", "x known y", True),
        (f"x {HIDDEN} y", "x y", False),
        (f"x {HIDDEN} y", "x anything z", False),
        (f"x {HIDDEN}", "y anything", False),
        (f"{HIDDEN} y {HIDDEN} z", "1 y 2 z", True),
        (f"{HIDDEN} y {HIDDEN} z", "1 z 2 z", False),
        (f"aba{HIDDEN}aba", "aba", False),
        (HIDDEN, "", False),
        (HIDDEN, "[redacted github ghijkl]", True),
        ("x other y", "x known y", True),
        ("other", "known", False),
        ("x other z", "x known y", False),
        (f"{HIDDEN} and known", "1 and known", True),
    ],
)
def test_a_placeholder_stands_for_any_text(old: str, new: str, same: bool) -> None:
    alike = Alike(lambda text: text.replace("known", "[redacted value mnopqr]"))
    assert alike.equal(old, new) is same


def test_a_text_as_it_stands_counts_more() -> None:
    alike = Alike(lambda text: text)
    assert alike.among([HIDDEN, "a", HIDDEN, "b"], "a") == [1]
    assert alike.among([HIDDEN, "a", HIDDEN, "b"], "c") == [0, 2]
    cases: list[Any] = [
        ((["b", "a"], ["a", "b"]), ([], [])),
        (([HIDDEN, "a"], ["a", "c"]), ([], [])),
        ((["a", "b", "c"], ["b", "d"]), (["a", "c"], ["d"])),
    ]
    for given, expected in cases:
        assert alike.odd(*given) == expected
