"""What holds for every importer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import importers
from harness.errors import ImportFormatError
from harness.importers import react

Write = Callable[..., Path]
GOOD: dict[str, Any] = {
    "schema": "harness/scenario@1",
    "id": "react/good",
    "goal": "g",
    "steps": [{}],
}


def test_every_module_is_found_and_says_what_it_lacks() -> None:
    found = importers.available()
    assert {"loopgain", "mini-swe-agent", "react", "tau-bench"} <= set(found)
    assert list(found) == sorted(found)
    for name, module in found.items():
        assert importers.get(name) is module
        assert name == module.NAME
        assert all((module.TITLE, module.LACKS, module.TOKENS, module.ITERATION))
        assert any(word in module.EXIT_REASON for word in ("xplicit", "nferred", "nknown"))


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(ImportFormatError, match=r"'taubench' \(did you mean 'tau-bench'\?\)"):
        importers.get("taubench")


def test_the_package_is_light() -> None:
    code = "import sys, harness.importers as i; i.available(); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": [{"score": "high"}]}, "scenario.steps[0].score"),
        ({"steps": []}, "scenario: needs either 'steps'"),
        ({"recorded": {"exit_reason": "tired"}}, "scenario.recorded.exit_reason: "),
        ({"tgas": []}, "scenario.tgas: unknown key"),
    ],
)
def test_what_is_no_scenario_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], words: str
) -> None:
    def read(path: Path, intake: importers.Intake) -> Iterator[dict[str, Any]]:
        yield GOOD
        yield {**GOOD, "id": "react/bad", **change}

    monkeypatch.setattr(react, "read", read)
    found = importers.recordings("react", Path("runs.jsonl"))
    assert next(found) == GOOD
    with pytest.raises(ImportFormatError) as caught:
        next(found)
    message = str(caught.value)
    assert message.startswith("runs.jsonl: recording 'react/bad': ")
    assert words in message
    assert "\n" not in message


def test_json_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    """A recording is there before the next line is looked at."""
    path = tmp_path / "runs.jsonl"
    run = (
        '{"idx": 1, "claim": "c", "reward": 0, "steps": [{"thought": "t", "action": "Search[x]"}]}'
    )
    path.write_text(f"{run}\n{{broken\n")
    found = importers.recordings("react", path)
    assert next(found)["id"] == "react/fever/1"
    with pytest.raises(ImportFormatError, match="line 2: not JSON"):
        next(found)
