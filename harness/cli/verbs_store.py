"""The verbs that keep a store: their arguments and help."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app

store_app = typer.Typer(
    help="Keep a store: what it holds, forgetting old runs, giving space back, Parquet files.\n\n"
    "\b\nExamples:\n"
    "  harness store info\n"
    "  harness store prune --keep 20\n",
    no_args_is_help=True,
)
app.add_typer(store_app, name="store")


@store_app.command()
def info(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """Show what a store holds: size, schema version, runs, rows by table.

    \b
    Example:
      harness store info
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import store as keeping

    keeping.info(store, as_json=json)


@store_app.command()
def prune(
    keep: Annotated[
        int | None, typer.Option(help="So many of the newest runs stay.", min=0)
    ] = None,
    before: Annotated[
        datetime | None,
        typer.Option(help="Runs made before this day (UTC) go.", formats=["%Y-%m-%d"]),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which runs would go.")
    ] = False,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Forget old runs with everything that only they have; baselines and labels stay.

    \b
    Examples:
      harness store prune --keep 20
      harness store prune --before 2026-01-01 --dry-run
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import store as keeping

    keeping.prune(store, keep, before, dry_run=dry_run, as_json=json)


@store_app.command()
def compact(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """Give back the space that forgotten runs left in the file.

    \b
    Example:
      harness store compact
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import store as keeping

    keeping.compact(store, as_json=json)


@store_app.command("export")
def export_(
    folder: Annotated[
        Path, typer.Argument(help="New or empty folder for the files.", metavar="DIR")
    ],
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write every table as a Parquet file, for any other tool.

    \b
    Example:
      harness store export parquet/
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import store as keeping

    keeping.export(store, folder, as_json=json)
