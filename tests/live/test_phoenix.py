"""A real backend: what is sent to Phoenix comes back whole, and its exports are recordings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.store.database import Store
from tests.collect.instrumented import STEPS
from tests.collect.test_command import environment
from tests.collect.test_instrumented import CONTENT, FULL, GENAI, INFERENCE, LLMETRY, problem, told
from tests.live.phoenix import Phoenix, executable, phoenix, spans_of

pytestmark = [
    pytest.mark.live,
    pytest.mark.xdist_group("phoenix"),
    pytest.mark.skipif(
        executable() is None,
        reason="needs: pip install arize-phoenix, somewhere; HARNESS_PHOENIX names its program",
    ),
]
PRESETS = ("balanced", "cost", "reflection")
#: It keeps times to the microsecond and gives them back as floating point numbers.
NEAR_NS = 1000
#: Prefixes of what it adds to spans of the GenAI conventions, in the words of OpenInference.
ADDED = ("openinference.", "llm.", "tool.", "session.id")


class Sent:
    """A run of the bundled scenarios, and what Phoenix has of it."""

    def __init__(self, here: Path, backend: Phoenix) -> None:
        self.here = here
        presets = [part for name in PRESETS for part in ("-p", name)]
        harness(here, "run", *presets, **backend.variables("bundled"))
        self.store = Store(here / "harness.duckdb")
        self.stored = self.store.rows("FROM spans")
        count = len(self.stored)
        otlp = backend.pages("bundled", "spans/otlpv1", count)
        native = backend.pages("bundled", "spans", count)
        for name, pages in (("otlp.jsonl", otlp), ("native.jsonl", native)):
            (here / name).write_text("".join(f"{json.dumps(page)}\n" for page in pages))
        self.spans = spans_of(otlp)
        # As its Python client gives them.
        (here / "list.json").write_text(json.dumps(spans_of(native)))


def harness(here: Path, *arguments: str, **variables: str) -> str:
    found = subprocess.run(
        [sys.executable, "-m", "harness.cli", *arguments], cwd=here, env=environment(**variables),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "warning" not in found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phoenix]:
    with phoenix(tmp_path_factory.mktemp("phoenix")) as running:
        yield running


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory, backend: Phoenix) -> Sent:
    return Sent(tmp_path_factory.mktemp("run"), backend)


def plain(value: dict[str, Any]) -> Any:
    """The one value that is set of those that an attribute could have."""
    ((kind, found),) = [(key, item) for key, item in value.items() if item is not None]
    return [plain(item) for item in found["values"]] if kind == "array_value" else found


def attributes(raw: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {item["key"]: plain(item["value"]) for item in raw}


def test_every_span_comes_back_whole(sent: Sent) -> None:
    found = {(span["trace_id"], span["span_id"]): span for span in sent.spans}
    assert len(found) == len(sent.spans) == len(sent.stored)
    for row in sent.stored:
        span = found[row["trace_id"], row["span_id"]]
        assert (span["name"], span["parent_span_id"]) == (row["name"], row["parent_id"])
        assert abs(span["start_time_unix_nano"] - row["start_ns"]) <= NEAR_NS
        assert abs(span["end_time_unix_nano"] - row["end_ns"]) <= NEAR_NS
        assert span["status"]["code"] == {"UNSET": 0, "ERROR": 2}[row["status"]]
        own = attributes(span["attributes"])
        expected = json.loads(row["attributes"])
        assert {key: own.get(key) for key in expected} == expected
        assert all(key.startswith(ADDED) for key in own.keys() - expected.keys())
        events = [(e["name"], attributes(e["attributes"])) for e in span["events"] or ()]
        assert events == [(e["name"], e["attributes"]) for e in json.loads(row["events"])]
    print(f"{len(found)} spans of {len({trace for trace, _ in found})} episodes came back")


@pytest.mark.parametrize(
    ("file", "importer"),
    [("otlp.jsonl", "otlp"), ("native.jsonl", "otel-dump"), ("list.json", "otel-dump")],
)
def test_its_exports_are_the_same_iterations(sent: Sent, file: str, importer: str) -> None:
    harness(sent.here, "import", "auto", file, "-o", f"{file}.out.jsonl", "--force")
    found = {r["id"]: told_of(r) for r in read_lines(sent.here / f"{file}.out.jsonl")}
    assert found == {f"{importer}/{name}": ran for name, ran in replayed(sent.store).items()}


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def told_of(recording: dict[str, Any]) -> Any:
    """Ending, and of each step score, tools, model, time and tokens."""
    steps = [
        (
            step.get("score"),
            [call["tool"] for call in step.get("calls", ())],
            step.get("reply", {}).get("model"),
            step.get("reply", {}).get("ms"),
            sum(step.get("reply", {}).get("usage", {}).values()) or None,
        )
        for step in recording["steps"]
    ]
    return recording["recorded"].get("exit_reason"), steps


def replayed(store: Store) -> dict[str, Any]:
    """The same from the store, by episode."""
    tools: dict[tuple[str, int], list[str]] = {}
    for row in store.rows("FROM calls ORDER BY episode_id, iteration, n"):
        tools.setdefault((row["episode_id"], row["iteration"]), []).append(row["tool"])
    rows = store.rows(
        "SELECT episode_id, iteration, score, exit_reason, model, ms, "
        "input_uncached + cache_read + cache_write + output + reasoning AS tokens FROM ("
        "  SELECT i.episode_id, i.iteration, i.score, e.exit_reason, l.* EXCLUDE (episode_id, "
        "  iteration) FROM iterations i JOIN episodes e USING (episode_id) "
        "  JOIN llm_calls l ON l.episode_id = i.episode_id AND l.iteration = i.iteration "
        "  AND l.role = 'actor') ORDER BY episode_id, iteration"
    )
    found: dict[str, Any] = {}
    for row in rows:
        reason = row["exit_reason"]
        steps = found.setdefault(
            row["episode_id"], (None if reason == "recording_exhausted" else reason, [])
        )[1]
        calls = tools.get((row["episode_id"], row["iteration"]), [])
        steps.append((row["score"], calls, row["model"], row["ms"], row["tokens"] or None))
    return found


@pytest.mark.parametrize("module", [INFERENCE, GENAI, LLMETRY])
@pytest.mark.parametrize("kind", ["spans/otlpv1", "spans"])
def test_an_agent_whose_traces_went_there_first(
    backend: Phoenix, tmp_path: Path, module: str, kind: str
) -> None:
    if why := problem(module):
        pytest.skip(f"{module}: {why}")
    project = f"{module}.{kind.replace('/', '.')}"
    subprocess.run(
        [sys.executable, "-m", "tests.collect.instrumented", module, "plain", "span"], check=True,
        env=environment(**{CONTENT: "span_only"}, **backend.variables(project)),
    )  # fmt: skip
    (page,) = backend.pages(project, kind, 4)
    (tmp_path / "page.json").write_text(json.dumps(page))
    harness(tmp_path, "import", "auto", "page.json", "-o", "runs.jsonl")
    (scenario,) = load([tmp_path / "runs.jsonl"])
    expected = STEPS
    if module == LLMETRY:  # it has a word of its own for them
        expected = [(t, f.replace("tool_calls", "tool_call"), c) for t, f, c in STEPS]
    assert told(scenario) == expected
    assert scenario.recorded.exit_reason == "agent_finished"
    (recording,) = read_lines(tmp_path / "runs.jsonl")
    assert [step["reply"]["usage"] for step in recording["steps"]] == [FULL] * 3
