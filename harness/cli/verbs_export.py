"""The verb that takes stored episodes elsewhere: its arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app, one_of

#: What episodes can be made into.
TARGETS = ("otlp", "scenarios")


@app.command()
def export(
    episodes: Annotated[
        list[str] | None,
        typer.Argument(
            help="Episode ids (or their beginnings) or scenarios' ids; left out: the latest run.",
            show_default=False,
        ),
    ] = None,
    *,
    to: Annotated[str, typer.Option("--to", help=f"One of: {', '.join(TARGETS)}.", metavar="WHAT")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .jsonl, of one scenario also .yaml. Needed for scenarios; of "
            "otlp, spans go into the file instead of to a backend.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Backend that spans are sent to; left out: what the variables "
            "OTEL_EXPORTER_OTLP_* name.",
            metavar="URL",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option("--preset", "-p", help="Only under this preset; may be repeated."),
    ] = None,
    in_run: Annotated[
        str | None, typer.Option("--run", help="In this run; else the latest.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Take stored episodes elsewhere: spans to any OpenTelemetry backend, recordings into a file.

    Spans carry each guard's verdict and how the episode ended as evaluation
    events, and the ids under which they are stored: a second export is the same
    trace. Recordings come from the files that were replayed; where these are
    gone, what the store holds of them, marked as such. Secrets are taken out of
    recordings; how many, and whether they still end the same way, is told.

    \b
    Examples:
      harness export --to otlp --endpoint http://localhost:4318
      harness export 3f2a --to otlp -o trace.jsonl
      harness export --run nightly --to scenarios -o nightly.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import export

    target = one_of("export: --to", to, TARGETS)
    export.export(
        store, episodes or [], target, output, endpoint, preset or [], in_run, force=force,
        as_json=json,
    )  # fmt: skip
