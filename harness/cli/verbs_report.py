"""The verb ``report``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app


@app.command()
def report(
    in_run: Annotated[str | None, typer.Option("--run", help="This run; else the latest.")] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Also say what changed since: a baseline file, a run, or a blessed name.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="html or md; left out: by the ending of the file, else md.",
            show_default=False,
            metavar="FORMAT",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write, written over if it exists. Left out: standard output.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write a run as one document: HTML that opens offline, or Markdown for a pull request.

    Both hold the same figures: a summary in words, exit reasons, presets
    compared, scenarios that end differently, tuning evidence, episodes to look
    at, method and caveats.

    \b
    Examples:
      harness report -o report.html
      harness report --base baseline -o comment.md
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import report

    report.write(store, in_run, base, form, output, as_json=json)
