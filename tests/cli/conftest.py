"""The command line, called in this process: exit code and both streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.files import bundled_scenarios
from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store


@dataclass(frozen=True)
class Result:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]

    def refusal(self) -> str:
        """The one line of an error."""
        assert self.code == 2, self
        assert self.out == "", self
        assert self.err.startswith("harness: "), self
        assert self.err.count("\n") == 1, self
        assert "Traceback" not in self.err
        assert "internal error" not in self.err
        return self.err


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


Cli = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    for name in ("HARNESS_STORE", "HARNESS_PRICES", "HARNESS_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def harness(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """``harness("run", "x.yaml")``, in an empty folder."""

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr("sys.argv", ["harness", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        streams = capsys.readouterr()
        return Result(exit_.value.code or 0, streams.out, streams.err)

    return call


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds one run of some bundled scenarios."""
    path = tmp_path_factory.mktemp("stored") / "stored.duckdb"
    families = [bundled_scenarios() / name for name in ("reflection", "budgets")]
    run(families, load_presets(["cost", "reflection"]), Store(path), run_id="first")
    return path


@pytest.fixture
def scenario(here: Path) -> Path:
    """A scenario file of two steps."""
    path = here / "one.jsonl"
    steps = [{"reply": {"text": "Draft."}, "score": 0.5}, {"reply": {"text": "Better."}}]
    head = {"schema": "harness/scenario@1", "id": "one/two", "goal": "Write."}
    path.write_text(json.dumps(head | {"steps": steps}) + "\n")
    return path
