"""The memory of an import does not grow with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.bench_import import KINDS, imported, make

#: What a file of 1 GB may take, in MB.
MOST = 500


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_three_times_the_file_takes_no_more_memory(tmp_path: Path, kind: str) -> None:
    found = {}
    for size in (6, 18):
        path = make(tmp_path, kind, size)
        assert path.stat().st_size == pytest.approx(size * 10**6, rel=0.01)
        told, memory, _ = imported(path, tmp_path / "out.jsonl")
        assert told["broken"] == 0
        found[size] = (told["recordings"], memory)
        path.unlink()
    (few, small), (many, large) = found.values()
    assert many == pytest.approx(3 * few, rel=0.02)
    assert large < MOST
    assert large < 1.25 * small


def test_a_small_file_of_each_kind_is_imported(tmp_path: Path) -> None:
    for kind in KINDS:
        told, memory, _ = imported(make(tmp_path, kind, 1), tmp_path / "out.jsonl")
        assert told["recordings"] > 10
        assert memory < MOST
