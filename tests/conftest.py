"""Settings of all tests: Hypothesis leaves nothing in the working tree and has no stop-watch."""

from __future__ import annotations

import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# A `.hypothesis` folder beside the sources would be collected by pytest.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "guard-harness-hypothesis")
# Slow machines are no failures.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts jobs in the background so; what tests start and interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of the system.

    For one module only: while Playwright runs, its event loop stands in the way of every test that
    wants one of its own.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a case that is named by an address: each worker would know it by another name."""
    for item in items:
        if re.search(r" at 0x[0-9a-f]{10,}", item.nodeid):
            raise pytest.UsageError(f"{item.nodeid}: give this case an id")
