"""The study of the step line: its page is what the recordings say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.slow
def test_the_page_is_reproduced(corpora: Path) -> None:
    spec = importlib.util.spec_from_file_location("step_line", DOCS / "step_line.py")
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    current = (DOCS / "step-line.md").read_text("utf-8") == study.page(corpora)
    assert current, "docs/step-line.md is out of date: python docs/step_line.py FOLDER"
