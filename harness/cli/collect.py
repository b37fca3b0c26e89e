"""``harness collect``: receives traces until somebody or a command ends it."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

from harness.cli import terminal
from harness.cli.child import run_child
from harness.collect import Counts, collecting
from harness.collect.receiver import PORT
from harness.errors import HarnessError
from harness.importers._lint_rules import NO_CONTENT
from harness.server import past_other_proxies, until_stopped

#: Instrumentations of the GenAI conventions leave out what is said unless this is set, and the
#: older ones also want to be told to follow the newest conventions.
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_LATEST = "gen_ai_latest_experimental"
#: These would go before the variables without a signal in their name.
_OVERRIDES = tuple(
    f"OTEL_EXPORTER_OTLP_{signal}_{what}"
    for signal in ("TRACES", "LOGS", "METRICS")
    for what in ("ENDPOINT", "PROTOCOL")
)


def collect(
    output: Path,
    command: Sequence[str],
    *,
    host: str,
    port: int | None,
    idle_s: float,
    max_body: int,
    secrets: Sequence[Path],
    as_json: bool,
) -> int:
    """Receive traces and write recordings.

    Args:
        output: The ``.jsonl`` file.
        command: What to run, with the variables it needs; left empty: until somebody ends it.
        host: Address to listen at.
        port: Port; left out: that of OTLP/HTTP, or with a command a free one.
        idle_s: Seconds after which a trace that nothing was heard of is written.
        max_body: Most MiB of a request, unpacked.
        secrets: Files with further patterns of secrets.
        as_json: Tell the end as JSON.

    Returns:
        The exit code: the command's where that is not 0.

    Raises:
        HarnessError: The address cannot be used, or nothing was recorded.
        OSError: The file cannot be read or written.
    """
    if output.suffix != ".jsonl":
        raise HarnessError(f"collect: --output: must end in .jsonl, found {str(output)!r}")
    if output.is_dir():
        raise HarnessError(f"collect: --output: {output} is a folder; name a file")
    code = 0
    usual = 0 if command else PORT
    with collecting(
        output, host=host, port=usual if port is None else port, anywhere=True,
        idle_ms=round(idle_s * 1000), max_body=max_body * 2**20, secrets=secrets, tell=_tell,
    ) as found:  # fmt: skip
        _warn(found.url)
        if command:
            code = run_child("collect", command, _variables(os.environ, found.url))
        else:
            until_stopped(lambda: _announce(found.url, output))
    counts = found.collector.counts
    _report(counts, output, code if command else None, as_json=as_json)
    if not code and not counts.episodes:
        raise HarnessError(f"collect: nothing was recorded: {_why(counts, command)}")
    return code


def _tell(words: str) -> None:
    terminal.err().print(terminal.plain(f"collect: {words}"))


def _warn(url: str) -> None:
    place = urlsplit(url).hostname or ""
    if not ipaddress.ip_address(place).is_loopback:
        terminal.err().print(
            f"[bold red]warning:[/] {terminal.plain(place)} is open to other machines: whoever "
            "reaches it can write into your recordings, and there is no password"
        )


def _announce(url: str, output: Path) -> None:
    notes = terminal.err()
    notes.print(f"collecting into {terminal.plain(str(output))}; Ctrl-C ends it. For the agent:")
    notes.print(f"  export OTEL_EXPORTER_OTLP_ENDPOINT={url}")
    notes.print("  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
    notes.print(f"  export {CONTENT}=span_only {OPT_IN}={_LATEST}")


def _variables(own: Mapping[str, str], url: str) -> dict[str, str]:
    """The environment of a command that is to export here, with what is said."""
    found = {name: value for name, value in own.items() if name not in _OVERRIDES}
    wanted = [name for name in found.get(OPT_IN, "").split(",") if name]
    if not any(name.startswith("gen_ai") for name in wanted):
        wanted.append(_LATEST)
    return {
        CONTENT: "span_only",
        **found,
        OPT_IN: ",".join(wanted),
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        **past_other_proxies(own, url),
    }


def _report(counts: Counts, output: Path, code: int | None, *, as_json: bool) -> None:
    if as_json:
        command = {} if code is None else {"command_exit_code": code}
        terminal.json_line({**asdict(counts), "output": str(output), **command})
        return
    # Standard output is the command's, where there is one.
    console = terminal.out() if code is None else terminal.err()
    console.print(
        f"{terminal.counted(counts.episodes, 'recording')}, "
        f"{terminal.counted(counts.steps, 'step')} of {terminal.counted(counts.spans, 'span')} -> "
        f"{terminal.plain(str(output))}"
    )
    ignored = f"traces without an agent were ignored ({counts.ignored_spans:,} spans)"
    told = (
        (counts.ignored_traces, ignored),
        (counts.refused, "requests were refused as a whole"),
        (counts.rejected, "items were not taken: broken, or of a recording that is finished"),
        (counts.broken, "runs could not be told as a recording"),
        (counts.closed_early, "traces were closed early, because too many were open"),
    )
    for count, words in told:
        if count:
            console.print(f"{count:,} {words}")
    if counts.episodes:
        empty, every = _without_content(output)
        if empty:
            console.print(f"{empty:,} of {every:,} recordings hold no content: set {CONTENT}")
    if counts.episodes:
        terminal.err().print(f"next: harness run {terminal.plain(str(output))}")


def _without_content(output: Path) -> tuple[int, int]:
    """How many recordings of the file, with those that were there before, say nothing; and all.

    By the tag as it stands in a line: a file of weeks is too large to be read as JSON for this, and
    within any other text its quotation marks would be escaped.
    """
    tag = json.dumps(NO_CONTENT).encode()
    with output.open("rb") as file:
        found = [tag in line for line in file if line.strip()]
    return sum(found), len(found)


def _why(counts: Counts, command: Sequence[str]) -> str:
    if counts.spans:
        return f"none of the {counts.spans} spans that arrived is a model call"
    if counts.refused:
        return f"all that came was refused: {terminal.counted(counts.refused, 'request')}"
    sets = "" if command else " to this address"
    return (
        f"no spans arrived; the agent has to be instrumented and to export over OTLP/HTTP{sets}; "
        "see: docs/collecting.md"
    )
