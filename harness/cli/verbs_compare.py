"""The verbs ``compare`` and ``bless``: their arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app


@app.command()
def compare(
    base: Annotated[
        str, typer.Argument(help="What was accepted: a baseline file, a run, or a blessed name.")
    ],
    candidate: Annotated[str, typer.Argument(help="What is to be judged: the same.")],
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            "-t",
            help="Accepted worsening: METRIC=AMOUNT, METRIC=PERCENT% or METRIC=AMOUNT+PERCENT%; "
            "metrics: success, iteration, cost (USD), best_score, unknowns. May be repeated.",
            show_default=False,
            metavar="METRIC=AMOUNT",
        ),
    ] = None,
    preset: Annotated[
        list[str] | None, typer.Option("--preset", "-p", help="Only this preset; may be repeated.")
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Chance of any false alarm among the tests that decide.")
    ] = 0.05,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="Also write a comment for a pull request; - for standard output, alone.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    base_store: Annotated[
        Path | None,
        typer.Option(
            help="Store that holds BASE, if it is another one.", show_default=False, metavar="FILE"
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Compare a run with a baseline: what got worse, what cannot be told.

    Exit code 0: nothing is worse; 1: a regression; 2: not measurable.

    Why is said on standard error. A name that is an existing file is that file.

    \b
    Examples:
      harness compare baseline.tsv latest-run --tolerance cost=5%
      harness compare baseline 20261103-101500-123456 --markdown comment.md
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import compare

    code = compare.run_compare(
        base, candidate, store, base_store, tolerances=tolerance or [], presets=preset or [],
        alpha=alpha, markdown_file=markdown, as_json=json,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def bless(
    run: Annotated[str, typer.Argument(help="Run to accept; see: harness list runs")],
    name: Annotated[str, typer.Option(help="Name it gets in the store.")] = "baseline",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Also write it as text to be committed; an older baseline is written over.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option("--preset", "-p", help="Only this preset goes into FILE; may be repeated."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Accept a complete run as the baseline that later runs are compared with.

    \b
    Examples:
      harness bless 20261103-101500-123456
      harness bless nightly --output baseline.tsv -p balanced
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import compare

    compare.run_bless(run, store, name=name, output=output, presets=preset or [], as_json=json)
