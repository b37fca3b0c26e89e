"""Every recording of the corpora, by whichever importer: lossless in files and in a live loop."""

from __future__ import annotations

import json
import logging
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from harness.importers import Source, available, sources_in
from harness.importers._convert import Conversion
from harness.preset import load_preset
from tests.round_trips import check_files, check_live

#: So many recordings of each source are compared; all 5,300 were, once, and take a minute.
COMPARED = 60
#: Of each source so many recordings are also replayed, handed to live loops, and written as YAML,
#: which takes long to read; of all others the data are compared.
REPLAYED, AS_YAML, YAML_BYTES = 5, 1, 40_000
#: Importers of which the corpora have no sample; other tests have them.
ABSENT = {"chat", "langsmith", "openai-agents", "tau2"}


@pytest.mark.slow
def test_every_recording_of_every_importer(corpora: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Prints how many there were; see it with ``-s``."""
    caplog.set_level(logging.ERROR, "harness")
    presets = [load_preset("balanced"), load_preset("observe")]
    found: Counter[str] = Counter()
    for source in sources_in(corpora):
        if not isinstance(source, Source):
            continue
        for number, item in enumerate(islice(Conversion([source]).items(), COMPARED)):
            found[source.name] += 1
            replayed = number < REPLAYED
            yaml = number < AS_YAML and len(item.line) < YAML_BYTES
            data = json.loads(item.line)
            scenario = check_files(data, presets if replayed else [], yaml=yaml)
            for under in presets if replayed else []:
                check_live(scenario, under)
    print("\n", dict(found))
    assert set(available()) - set(found) <= ABSENT
