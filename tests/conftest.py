"""Settings of all tests: Hypothesis leaves nothing in the working tree and has no stop-watch."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# A `.hypothesis` folder beside the sources would be collected by pytest.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "guard-harness-hypothesis")
# Slow machines are no failures.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")
