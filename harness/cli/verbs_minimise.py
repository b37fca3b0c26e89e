"""The verb that makes a regression test of an episode: its arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app


@app.command()
def minimise(
    episode: Annotated[
        str,
        typer.Argument(
            help="Episode id (or its beginning), a scenario's id, or a scenario file "
            "(cases.jsonl::id names one of several)."
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option("--preset", "-p", help="Of a scenario: under this preset."),
    ] = None,
    in_run: Annotated[
        str | None, typer.Option("--run", help="In this run; else the latest.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write, .yaml; left out: the YAML goes to standard output.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    keep_text: Annotated[
        bool,
        typer.Option(
            "--keep-text",
            help="Leave texts as they are, personal details included; only secrets go.",
        ),
    ] = False,
    budget: Annotated[int, typer.Option(help="Replays that it may take.", min=1)] = 3000,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Make an episode the shortest scenario that still ends the same way: a regression test.

    Steps, calls, replies and whatever else the ending does not need are left out,
    long texts are shortened, secrets and personal details replaced (names in
    running text stay); guards and thresholds stay. The scenario carries what it
    expects, so that pytest runs it as it is.

    \b
    Examples:
      harness minimise 3f2a -o tests/night.yaml
      harness minimise reflection/plateau -p reflection
      harness minimise cases.jsonl::flights/7 -p my.toml -o flights-7.yaml
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import minimise

    minimise.minimise(
        store, episode, preset, in_run, output, force=force, keep_text=keep_text, budget=budget,
        as_json=json,
    )  # fmt: skip
