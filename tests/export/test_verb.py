"""``harness export`` as its user meets it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.files import load
from tests.cli.conftest import Cli
from tests.examples import scenario, scored
from tests.stored import ODD, jsonl
from tests.test_otlp import Backend

OTHER = scenario(scored(0.1, 0.2), id="night/other")


@pytest.fixture
def run(harness: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stored run."""
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    jsonl(here / "night.jsonl", ODD, OTHER)
    assert harness("run", "night.jsonl", "-p", "balanced", "-p", "strict").code == 0
    return here


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend(200)
    yield made
    made.close()


def test_spans_to_a_backend(harness: Cli, run: Path, backend: Backend) -> None:
    (line,) = harness("export", "--to", "otlp", "--endpoint", backend.url, "--json").lines
    assert line == {"episodes": 4, "spans": len(backend.spans), "confirmed": len(backend.spans),
                    "lost": 0, "output": None}  # fmt: skip
    verdicts = [e.name for s in backend.spans if not s.parent_span_id for e in s.events]
    assert set(verdicts) == {"gen_ai.evaluation.result"}
    assert len(verdicts) > 4


def test_the_standard_variables_name_the_backend(
    harness: Cli,
    run: Path,
    backend: Backend,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.url)
    result = harness("export", "odd/one", "-p", "strict", "--to", "otlp")
    assert result.out.startswith(f"1 episodes, {len(backend.spans)} spans; {len(backend.spans)} c")


def test_what_nobody_took_is_an_error(
    harness: Cli,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    result = harness("export", "--to", "otlp", "--endpoint", f"http://127.0.0.1:{port}")
    assert result.code == 2
    assert "spans were not confirmed by the backend" in result.err


def test_spans_into_a_file(harness: Cli, run: Path) -> None:
    result = harness("export", "--to", "otlp", "-o", "spans.jsonl")
    assert result.out.startswith("4 episodes, ")
    assert len((run / "spans.jsonl").read_text("utf-8").splitlines()) == 4


def test_recordings_into_a_file(harness: Cli, run: Path) -> None:
    (line,) = harness("export", "--to", "scenarios", "-o", "back.jsonl", "--json").lines
    assert (line["recordings"], line["whole"], line["rebuilt"], line["lacks"]) == (2, 2, 0, [])
    before = {s.id: s for s in load([run / "night.jsonl"])}
    assert {s.id: s for s in load([run / "back.jsonl"])} == before


def test_a_rebuilt_recording_says_so(harness: Cli, run: Path) -> None:
    (run / "night.jsonl").unlink()
    result = harness("export", "odd/one", "-p", "balanced", "--to", "scenarios", "-o", "one.yaml")
    assert "1 of them are rebuilt from the store" in result.out
    assert "1 yes, 0 no, 0 unknown" in " ".join(result.out.split())
    (found,) = load([run / "one.yaml"])
    assert found.tags == ["rebuilt from a store"]


REFUSED = {
    "no target": (["--to", "csv"], "export: --to: found 'csv'; choose from: otlp, scenarios"),
    "nobody to send to": (["--to", "otlp"], "name a backend with --endpoint"),
    "no URL": (["--to", "otlp", "--endpoint", "localhost"], "must be a URL such as"),
    "both": (["--to", "otlp", "--endpoint", "http://x", "-o", "x.jsonl"], "exclude each other"),
    "no file": (["--to", "scenarios"], "needs a file: --output FILE.jsonl"),
    "an endpoint": (["--to", "scenarios", "-o", "x.jsonl", "--endpoint", "x"], "is for spans"),
    "another ending": (["--to", "otlp", "-o", "x.json"], "must end in .jsonl, found 'x.json'"),
    "there already": (["--to", "scenarios", "-o", "old.jsonl"], "--force writes over it"),
    "several in YAML": (["--to", "scenarios", "-o", "x.yaml"], "a YAML file holds one scenario"),
    "no folder": (["--to", "otlp", "-o", "no/x.jsonl"], "folder no does not exist"),
    "nothing of that name": (["x", "--to", "otlp", "-o", "x.jsonl"], "no such episode or scenario"),
    "no such run": (["--run", "x", "--to", "otlp", "-o", "x.jsonl"], "run: found 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(harness: Cli, run: Path, case: str) -> None:
    (run / "old.jsonl").write_text("mine")
    arguments, words = REFUSED[case]
    assert words in harness("export", *arguments).refusal()
    assert (run / "old.jsonl").read_text() == "mine"
