"""The verb that brings foreign recordings in: its arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import JsonOption, app


@app.command("import")
def import_(
    format: Annotated[
        str, typer.Argument(help="Source format, or auto; see: harness list importers")
    ],
    paths: Annotated[list[Path], typer.Argument(help="Files or folders to read.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="JSON Lines file to write.", metavar="FILE", show_default=False
        ),
    ] = None,
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Write nothing; tell what was found and what is odd."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="The first broken record ends it; exit code 2.")
    ] = False,
    keep_raw: Annotated[
        Path | None,
        typer.Option(
            help="Also write the source's own records, one a line: id, place, raw.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    json: JsonOption = False,
) -> None:
    """Turn real runs recorded by others into scenarios that can be replayed.

    With `auto` the format of each file is found out; folders are searched. A
    broken record is named and left out: exit code 1. Secrets are always taken
    out.

    \b
    Examples:
      harness import auto runs/ -o runs.jsonl
      harness import auto export.json --dry-run        what is in it?
      harness import tau-bench gpt-4o-airline.json -o tau.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import import_ as work

    whole = work.import_(
        format, paths, output, keep_raw, dry_run=dry_run, strict=strict, force=force, json=json
    )
    if not whole:
        raise typer.Exit(1)
