"""``harness export`` as its user meets it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.files import load
from tests.cli.conftest import Cli
from tests.examples import call, scenario, scored, step
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
    assert result.out.startswith(f"1 episode, {len(backend.spans)} spans; {len(backend.spans)} c")


def dead() -> str:
    """A URL where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


NOBODY = {
    "nobody listens": (None, "ConnectionRefusedError: ["),
    "another path": (404, "Failed to export spans batch code: 404, reason: Not Found"),
    "too busy": (503, "Transient error Service Unavailable encountered"),
}


@pytest.mark.parametrize("case", NOBODY)
def test_what_nobody_took_is_an_error_with_its_cause(
    harness: Cli,
    run: Path,
    backend: Backend,
    case: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)  # as the command line has it
    status, cause = NOBODY[case]
    backend.status = status
    url = dead() if status is None else backend.url
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
    result = harness("export", "--to", "otlp", "--endpoint", url)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert f"spans were not confirmed by the backend: {cause}" in line
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    result = harness("run", "night.jsonl", "-p", "balanced")
    assert result.code == 0
    (line,) = [line for line in result.err.splitlines() if line.startswith("warning:")]
    assert f"spans did not reach the OTLP endpoint: {cause}" in line
    assert [r.name for r in caplog.records if r.name.startswith("opentelemetry")] == []


def test_spans_into_a_file(harness: Cli, run: Path) -> None:
    result = harness("export", "--to", "otlp", "-o", "spans.jsonl")
    assert result.out.startswith("4 episodes, ")
    assert len((run / "spans.jsonl").read_text("utf-8").splitlines()) == 4


def test_recordings_into_a_file(harness: Cli, run: Path) -> None:
    (line,) = harness("export", "--to", "scenarios", "-o", "back.jsonl", "--json").lines
    assert (line["recordings"], line["whole"], line["rebuilt"], line["lacks"]) == (2, 2, 0, [])
    before = {s.id: s for s in load([run / "night.jsonl"])}
    assert {s.id: s for s in load([run / "back.jsonl"])} == before


SECRETS = {
    "openai": "sk-proj-" + "aB3x" * 10,
    "github": "ghp_" + "a1B2" * 9,
    "aws": "AKIA" + "Q7RS" * 4,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "pem": "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----",
    "url": "https://me:hunter22x@example.org/x",
    "cookie": "Cookie: session=abcdef0123456789abcdef",
}
PARTS = [*SECRETS.values(), "hunter22x", "abcdef0123456789", "MIIabc"]


@pytest.mark.parametrize("gone", [False, True], ids=["its file", "rebuilt"])
@pytest.mark.parametrize("name", ["back.jsonl", "back.yaml"])
def test_secrets_are_taken_out_of_recordings(
    harness: Cli, run: Path, name: str, gone: bool
) -> None:
    leaky = scenario(
        [step(call("get", {"with": secret}, f"got {secret}"), text=f"I use {secret}.")
         for secret in SECRETS.values()]
        + [step(call("get", {"with": "x"}, SECRETS["github"]))] * 3, id="night/leaky",
    )  # fmt: skip
    file = jsonl(run / "leaky.jsonl", leaky)
    assert (
        harness("run", "leaky.jsonl", "-p", "balanced", "-p", "strict", "--run", "leaky").code == 0
    )
    if gone:
        file.unlink()
    to = ("export", "--run", "leaky", "--to", "scenarios", "-o", name)
    (told,) = harness(*to, "--json").lines
    assert (told["redacted"], told["redacted_same_end"], told["whole"]) == (1, 1, not gone)
    assert told["secrets"] >= 3 * len(SECRETS)
    text = (run / name).read_text("utf-8")
    assert [part for part in PARTS if part in text] == []
    result = harness(*to, "--force")
    assert (run / name).read_text("utf-8") == text
    assert f"secrets taken out: {told['secrets']}, in 1 of them" in " ".join(result.out.split())


def test_an_ending_that_hangs_on_secrets_is_told(harness: Cli, run: Path) -> None:
    # Guards take results for the same that differ in their digits; placeholders have letters.
    steps = [step(call("get", {"of": "x"}, f"password=1000000000{n}")) for n in range(5)]
    jsonl(run / "leaky.jsonl", scenario(steps, id="night/leaky"))
    harness("run", "leaky.jsonl", "-p", "balanced", "--run", "leaky")
    result = harness("export", "--run", "leaky", "--to", "scenarios", "-o", "back.jsonl")
    assert "these end as before: 0 yes, 1 no, 0 unknown" in " ".join(result.out.split())
    assert result.code == 0


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
    "no such preset": (
        ["-p", "balanced", "-p", "fast", "--to", "otlp", "-o", "x.jsonl"],
        "--preset: found 'fast'; choose from: balanced, strict",
    ),
    "no such run": (["--run", "x", "--to", "otlp", "-o", "x.jsonl"], "run: found 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(harness: Cli, run: Path, case: str) -> None:
    (run / "old.jsonl").write_text("mine")
    arguments, words = REFUSED[case]
    assert words in harness("export", *arguments).refusal()
    assert (run / "old.jsonl").read_text() == "mine"
