"""The committed samples are what the harness writes, byte for byte."""

from __future__ import annotations

import pytest

from harness.report import FORMATS
from tests.report.sample import FOLDER


@pytest.mark.parametrize("form", FORMATS)
def test_the_samples_come_out_byte_for_byte(texts, form):
    assert texts[form].encode("utf-8") == (FOLDER / f"report.{form}").read_bytes(), (
        f"reports/samples/report.{form} is stale; write it anew: python -m tests.report.sample"
    )
