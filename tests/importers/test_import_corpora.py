"""Every sample is imported by ``auto``, or refused with a reason; and everything runs observed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.importers import Source, Unknown, sources_in
from harness.importers._convert import Conversion
from harness.scenario import Scenario
from harness.store.database import Store

#: Files of the corpora that hold no run: descriptions, and raw logs that derived files stand for.
NO_RUN = (".md", ".txt", ".csv")
#: No agent's run, although it is JSON: answers by question, without an iteration.
NO_FORMAT = ("mmlu_college_physics_predictions.json", "mmlu_machine_learning_predictions.json")


@pytest.fixture(scope="module")
def found(corpora: Path) -> list[Source | Unknown]:
    return sources_in(corpora)


def test_what_nobody_knows_is_no_run(found: list[Source | Unknown]) -> None:
    for one in found:
        if isinstance(one, Unknown):
            assert one.path.suffix in NO_RUN or one.path.name in NO_FORMAT, one
            assert one.reason.startswith(("is text that no importer", "is a JSON document that no"))


#: So many recordings of each source are run here; that all 5,300 of them do takes a minute more.
RUN = 60


@pytest.mark.slow
def test_each_sample_is_imported_or_refused_with_a_reason_and_runs_observed(
    corpora: Path, found: list[Source | Unknown], tmp_path: Path
) -> None:
    """Prints a table; see it with ``-s``."""
    print()
    chosen: list[str] = []
    finished: set[str] = set()
    for source in (one for one in found if isinstance(one, Source)):
        conversion = Conversion([source])
        ids: Counter[str] = Counter()
        for number, item in enumerate(conversion.items()):
            Scenario.model_validate_json(item.line)
            ids[item.subject.recording["id"]] += 1
            if number < RUN:
                recording = {**json.loads(item.line), "id": f"run/{len(chosen)}"}
                chosen.append(json.dumps(recording))
                if recording.get("recorded", {}).get("exit_reason") == "agent_finished":
                    finished.add(recording["id"])
        assert ids or conversion.problems, source
        assert max(ids.values(), default=1) == 1
        for problem in conversion.problems:
            # It names the file and stays on its line.
            assert problem.startswith(str(source.path))
            assert "\n" not in problem
        name = str(source.path.relative_to(corpora))
        print(f"{source.name:15} {len(ids):5} read {conversion.broken:3} lost  {name[-60:]}")
    (tmp_path / "all.jsonl").write_text("".join(f"{line}\n" for line in chosen), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", "run", "all.jsonl", "-p", "observe", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[0])["episodes"] == len(chosen)
    # A replay says of an agent's own end what the import says of it, and guesses no other.
    rows = Store(tmp_path / "harness.duckdb").rows(
        "SELECT scenario FROM episodes WHERE exit_reason = 'agent_finished'"
    )
    assert {row["scenario"] for row in rows} == finished
