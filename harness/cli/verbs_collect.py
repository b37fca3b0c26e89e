"""The verb ``collect``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import JsonOption, app


@app.command(context_settings={"allow_interspersed_args": False})
def collect(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Behind --: what to run. It gets the variables that make it export here, with "
            "what is said; its end ends this too. Left out: until Ctrl-C.",
            show_default=False,
            metavar="-- COMMAND...",
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="JSON Lines file of recordings; what is in it stays.",
            metavar="FILE",
        ),
    ] = Path("recordings.jsonl"),
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; others than this machine's own are a risk."),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen at; 0 for a free one. Left out: 4318; with a command a free one.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    idle: Annotated[
        float,
        typer.Option(
            help="Seconds after which a trace that nothing was heard of is written as it is.",
            min=0.1,
        ),
    ] = 10.0,
    max_body: Annotated[
        int, typer.Option(help="Most of one request, unpacked.", min=1, max=2000, metavar="MIB")
    ] = 64,
    secrets: Annotated[
        list[Path] | None,
        typer.Option(
            help="A .toml file with further patterns of secrets; may be repeated.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Receive traces of agents over OTLP and turn them into recordings as they come.

    OTLP over HTTP, protobuf or JSON: what OTEL_EXPORTER_OTLP_ENDPOINT is for. One
    recording for each conversation or trace, by the rules of harness import otlp;
    secrets are taken out before anything is written. The exit code is that of the
    command, or 2 where nothing was recorded. More: docs/collecting.md

    \b
    Examples:
      harness collect -o runs.jsonl -- python my_agent.py
      harness collect                   until Ctrl-C
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import collect

    code = collect.collect(
        output, command or [], host=host, port=port, idle_s=idle, max_body=max_body,
        secrets=secrets or [], as_json=json,
    )  # fmt: skip
    if code:
        raise typer.Exit(code)
