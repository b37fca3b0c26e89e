"""The verb ``lint``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.app import JsonOption, app


@app.command()
def lint(
    presets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Presets by name, .toml files, or folders of them. Left out: the seven that run "
            "compares.",
            show_default=False,
        ),
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All bundled presets, peers' too.")] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out this rule; may be repeated. See: harness docs lint",
            show_default=False,
            metavar="CODE",
        ),
    ] = None,
    scenarios: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure first iterations on these scenarios; may be repeated. Left out: the "
            "bundled ones.",
            show_default=False,
            metavar="PATH",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find thresholds that never fire, never decide, or speak against each other.

    Exit code 1 if there are errors or warnings; notes do not count.

    \b
    Examples:
      harness lint mine.toml presets/
      harness lint mine.toml --scenarios recordings/ --ignore many-rounds
      harness lint --all
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import lint

    found = lint.lint(
        presets or [], every=every, ignore=ignore or [], scenarios=scenarios or [], as_json=json
    )
    if found:
        raise typer.Exit(1)
