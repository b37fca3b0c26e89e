"""Where the recorded runs are, and files made for one test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers import recordings
from tests.importers.chat_runs import One, Write, read

_DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "corpora"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of recorded runs (``HARNESS_CORPORA``); tests that need it skip without it."""
    folder = Path(os.environ.get("HARNESS_CORPORA") or _DEFAULT)
    if not folder.is_dir():
        pytest.skip("no corpora: set HARNESS_CORPORA to their folder")
    return folder


@pytest.fixture
def write_json(tmp_path: Path) -> Callable[..., Path]:
    """Write one JSON value to a file."""

    def write(value: Any, name: str = "runs.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return write


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Write values to a JSON Lines file; a text is written as it is."""

    def write(*values: Any, name: str = "runs.jsonl") -> Path:
        path = tmp_path / name
        lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def refused(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    """The one-line message with which the test module's ``FORMAT`` refuses a file."""

    def refused(path: Path) -> str:
        with pytest.raises(ImportFormatError) as caught:
            list(recordings(request.module.FORMAT, path))
        message = str(caught.value)
        assert str(path) in message
        assert "\n" not in message
        return message

    return refused


@pytest.fixture
def one(write_lines: Write) -> One:
    """The recording that one line of chat messages becomes."""

    def one(line: Any) -> dict[str, Any]:
        (recording,) = read(write_lines(line))
        return recording

    return one
