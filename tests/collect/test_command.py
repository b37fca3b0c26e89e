"""``harness collect`` as its users run it: a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import load
from tests.collect.spans import STEPS, lines, request, run_spans, told

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "harness.cli", "collect"]
#: An agent that is instrumented and exports where the standard variables say.
AGENT = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.collect.spans import agent_run

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
agent_run(provider.get_tracer("agent"))
print("the agent is done")
"""
SHOW = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if 'OTEL' in k}))"


def environment(**more: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**own, "PYTHONPATH": str(ROOT), **more}


def collect(
    here: Path, *arguments: str, child: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with a program of Python."""
    command = ["--", sys.executable, "-c", *child] if child else []
    return subprocess.run(
        [*COMMAND, *arguments, *command], cwd=here, env=environment(**variables),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@contextmanager
def collecting(here: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its address."""
    with subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments], cwd=here, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        try:
            marker = "OTEL_EXPORTER_OTLP_ENDPOINT="
            line = next(line for line in process.stderr if marker in line)
            yield process, line.strip().partition(marker)[2]
        finally:
            process.kill()


def send(url: str, content: bytes) -> int:
    headers = {"content-type": "application/x-protobuf"}
    return httpx2.post(f"{url}/v1/traces", content=content, headers=headers).status_code


def test_a_command_is_run_and_recorded(tmp_path: Path) -> None:
    found = collect(tmp_path, "-o", "a.jsonl", child=[AGENT])
    assert (found.returncode, found.stdout) == (0, "the agent is done\n")
    (recording,) = lines(tmp_path / "a.jsonl")
    assert list(told(recording)) == STEPS
    assert "1 recording, 3 steps of 6 spans -> a.jsonl" in found.stderr
    again = collect(tmp_path, "-o", "a.jsonl", "--json", child=[AGENT])
    summary = json.loads(again.stdout.splitlines()[-1])
    assert (summary["episodes"], summary["steps"], summary["command_exit_code"]) == (1, 3, 0)
    assert len(list(load([tmp_path / "a.jsonl"]))) == 2


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}),
        (
            {"OTEL_SEMCONV_STABILITY_OPT_IN": "http"},
            {"OTEL_SEMCONV_STABILITY_OPT_IN": "http,gen_ai_latest_experimental"},
        ),
        (
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
        ),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://elsewhere",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://elsewhere",
                "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc",
                "OTEL_SERVICE_NAME": "mine",
            },
            {"OTEL_SERVICE_NAME": "mine"},
        ),
    ],
)
def test_what_the_command_is_told(
    tmp_path: Path, variables: dict[str, str], expected: dict[str, str]
) -> None:
    found: dict[str, Any] = json.loads(collect(tmp_path, child=[SHOW], **variables).stdout)
    assert found.pop("OTEL_EXPORTER_OTLP_ENDPOINT").startswith("http://127.0.0.1:")
    assert found == {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        **expected,
    }


@pytest.mark.parametrize(
    ("child", "code", "words"),
    [
        (["raise SystemExit(7)"], 7, "0 recordings"),
        (["pass"], 2, "nothing was recorded: no spans arrived"),
        (["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], 137, "0 recordings"),
    ],
)
def test_the_exit_code(tmp_path: Path, child: list[str], code: int, words: str) -> None:
    found = collect(tmp_path, child=child)
    assert found.returncode == code
    assert words in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "a.json"], "--output: must end in .jsonl, found 'a.json'"),
        (["-o", "folder.jsonl"], "folder.jsonl is a folder"),
        (["--host", "no.such.host.invalid"], "cannot be used"),
        (["--port", "70000"], "--port"),
        (["--", "./no-such-program"], "cannot run ./no-such-program: No such file or directory"),
    ],
)
def test_what_it_refuses(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    found = collect(tmp_path, *arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("harness: ")
    assert words in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_what_is_open_is_written_when_it_is_ended(tmp_path: Path, name: str) -> None:
    with collecting(tmp_path, "--json", "--idle", "1000") as (process, url):
        assert send(url, request(run_spans()[:2]).SerializeToString()) == 200
        process.send_signal(getattr(signal, name))
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert (json.loads(out)["episodes"], json.loads(out)["steps"]) == (1, 1)
    (recording,) = lines(tmp_path / "recordings.jsonl")
    assert list(told(recording)) == STEPS[:1]


def test_what_is_whole_is_written_at_once_and_survives_a_kill(tmp_path: Path) -> None:
    with collecting(tmp_path) as (process, url):
        assert send(url, request(run_spans()).SerializeToString()) == 200
        assert process.stderr is not None
        assert next(line for line in process.stderr if "3 steps" in line)
        process.kill()
    (recording,) = lines(tmp_path / "recordings.jsonl")
    assert list(told(recording)) == STEPS


def test_nothing_but_other_traces(tmp_path: Path) -> None:
    child = AGENT.replace("agent_run(", "(lambda tracer: tracer.start_span('GET /').end())(")
    found = collect(tmp_path, child=[child])
    assert found.returncode == 2
    assert "none of the 1 spans that arrived is a model call" in found.stderr
    assert not (tmp_path / "recordings.jsonl").exists()


def test_recordings_that_say_nothing_are_counted(tmp_path: Path) -> None:
    hidden = '"agent"), 2, **{"gen_ai.input.messages": "", "gen_ai.output.messages": ""}'
    words = "hold no content"
    assert words not in collect(tmp_path, child=[AGENT]).stderr
    found = collect(tmp_path, child=[AGENT.replace('"agent")', hidden)])
    assert found.returncode == 0
    told = next(line for line in found.stderr.splitlines() if words in line)
    assert told == (
        "1 of 2 recordings hold no content: set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    )


def test_keys_of_the_environment_are_not_written(tmp_path: Path) -> None:
    key = "a-key-of-no-known-shape-0123456789"
    child = AGENT.replace('"agent")', f'"agent"), 2, **{{"gen_ai.tool.call.result": "{key}"}}')
    found = collect(tmp_path, child=[child], MY_API_KEY=key)
    assert found.returncode == 0
    text = (tmp_path / "recordings.jsonl").read_text("utf-8")
    assert key not in text
    assert "[redacted client_key " in text


def test_other_machines_are_warned_of(tmp_path: Path) -> None:
    found = collect(tmp_path, "--host", "0.0.0.0", child=[AGENT])  # noqa: S104 - asked for
    assert found.returncode == 0
    assert "warning: 0.0.0.0 is open to other machines" in found.stderr
