"""A store with one run of some bundled scenarios, and what a terminal says of it."""

from __future__ import annotations

import pytest

from tests.report.sample import made


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return made(tmp_path_factory.mktemp("figures"))
