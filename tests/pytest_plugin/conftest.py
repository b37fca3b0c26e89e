"""A user's project, on nobody's continuous integration."""

from __future__ import annotations

import genai_prices
import pandas as pd
import pytest

from harness.preset import load_preset
from harness.pytest_plugin import collect, fixture, recorder
from harness.pytest_plugin.settings import CI
from tests.projects import DRAFT, PRESET, Project

#: Pytester forgets what an inner run has imported; extension modules do not survive a second
#: import, so they have to be there before.
PRELOADED = (genai_prices, pd, collect, fixture, recorder, load_preset("balanced"))


@pytest.fixture
def project(pytester, monkeypatch):
    """One scenario, one preset, nothing else."""
    assert PRELOADED
    for name in (*CI, "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "HARNESS_STORE"):
        monkeypatch.delenv(name, raising=False)
    made = Project(pytester)
    made.write("scenarios/draft.yaml", DRAFT)
    made.write("presets/mine.toml", PRESET)
    return made
