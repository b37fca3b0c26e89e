"""The committed samples: a small run of bundled scenarios as both formats.

``python -m tests.report.sample`` writes them anew.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.files import bundled_scenarios
from harness.preset import load_presets
from harness.report import FORMATS, render, report
from harness.run import run
from harness.store.database import Store

FOLDER = Path(__file__).parents[2] / "reports" / "samples"
PRESETS = ("balanced", "observe", "reflection")


def made(folder: Path) -> Store:
    """The store that the samples show."""
    store = Store(folder / "sample.duckdb")
    families = [bundled_scenarios() / name for name in ("reflection", "spin")]
    run(families, load_presets(PRESETS), store, run_id="sample")
    return store


def samples(folder: Path) -> dict[str, str]:
    """Each sample by file name."""
    found = report(made(folder))
    return {f"report.{form}": render(found, form) for form in FORMATS}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in samples(Path(scratch)).items():
            (FOLDER / name).write_bytes(text.encode("utf-8"))
