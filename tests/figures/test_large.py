"""Figures of 200,000 episodes and 2,000,000 iterations keep the process under 1 GiB."""

from __future__ import annotations

import pytest

from tests.benchmarks.bench_figures import measured
from tests.figures.large import make_large


@pytest.mark.slow
def test_a_large_store_fits_into_memory(tmp_path):
    make_large(tmp_path / "large.duckdb")
    assert measured(tmp_path / "large.duckdb")["bytes"] < 2**30
