"""The run of the samples, and its report."""

from __future__ import annotations

import pytest

from harness.report import FORMATS, render, report
from tests.report.sample import made


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return made(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def found(store):
    return report(store)


@pytest.fixture(scope="session")
def texts(found):
    return {form: render(found, form) for form in FORMATS}
