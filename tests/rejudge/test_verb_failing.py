"""``harness rejudge`` where a function fails, and where two write one file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.files import load
from tests.cli.conftest import Cli
from tests.examples import PRICED, scenario, step
from tests.openai_server import KEY, say, serving
from tests.stored import jsonl

TO = ("rejudge", "in.jsonl", "-o", "out.jsonl")
MODEL = (*TO, "--model", PRICED)
VERDICT = {"done": False, "score": 0.5, "reason": "half", "evidence": ["a.txt"]}


@pytest.fixture
def file(here: Path) -> Path:
    recordings = [scenario([step(text="one"), step(text="two")], id=f"made/{r}") for r in "ab"]
    return jsonl(here / "in.jsonl", *recordings)


def test_what_failed_is_told_until_it_is_judged(harness: Cli, file: Path) -> None:
    """Where the function is as it was: what it needs may be back."""
    Path("own.py").write_text(
        "from pathlib import Path\n\ndef needs(moment):\n"
        "    if moment.iteration == 2:\n        Path('there').read_text()\n    return 0.5\n"
    )
    words = (*TO, "--function", "own.py:needs")
    for more in ((), ("--resume",)):
        result = harness(*words, *more)
        assert result.code == 1
        assert result.err.count("own.py:5: FileNotFoundError") == 2
        assert "2 iterations failed and stayed unknown; the same command with --resume" in (
            " ".join(result.err.split())
        )
    assert "2 iterations to judge" in harness(*words, "--resume", "--dry-run").out
    Path("there").touch()
    assert harness(*words, "--resume").code == 0
    assert [[s.score for s in found.steps] for found in load(["out.jsonl"])] == [[0.5, 0.5]] * 2
    assert not Path("out.jsonl.judging").exists()


def test_a_mended_function_begins_anew(harness: Cli, file: Path) -> None:
    Path("own.py").write_text("def odd(moment):\n    return 1 / (moment.iteration - 2)\n")
    assert harness(*TO, "--function", "own.py:odd").code == 1
    Path("own.py").write_text("def odd(moment):\n    return 0.25\n")
    words = (*TO, "--function", "own.py:odd")
    assert "or judge all anew with --force" in harness(*words, "--resume").refusal()
    assert harness(*words, "--force").code == 0
    assert [[s.score for s in found.steps] for found in load(["out.jsonl"])] == [[0.25] * 2] * 2


def test_an_asynchronous_function_is_refused(harness: Cli, file: Path) -> None:
    Path("own.py").write_text("async def soon(moment):\n    return 0.5\n")
    words = harness(*TO, "--function", "own.py:soon").refusal()
    assert "own.py:soon is asynchronous" in words
    assert not Path("out.jsonl").exists()


def test_a_second_one_does_not_write_the_same_file(
    harness: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = threading.Event(), threading.Event()

    def script(body: dict[str, Any]) -> dict[str, Any]:
        reached.set()
        assert go.wait(60)
        return say(json.dumps(VERDICT))

    with serving(script=script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with subprocess.Popen([sys.executable, "-m", "harness.cli", *MODEL]) as running:
            assert reached.wait(60)
            for more in ((), ("--resume",), ("--force",)):
                words = harness(*MODEL, *more).refusal()
                assert words.startswith("harness: rejudge: --output: out.jsonl is being written by")
            go.set()
        assert (running.returncode, len(server.requests)) == (0, 4)
    assert [found.id for found in load(["out.jsonl"])] == ["made/a", "made/b"]
