"""The verb ``rejudge``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import BudgetOption, CallsOption, JsonOption, SettingOption, app


@app.command()
def rejudge(
    paths: Annotated[list[str], typer.Argument(help="Recordings: files or folders.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="JSON Lines file to write.", metavar="FILE"),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="Model that judges. Asked at OPENAI_BASE_URL with OPENAI_API_KEY.",
            show_default=False,
        ),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option(
            help="Instead: your Python function, module:name or file.py:name. It gets a moment "
            "(goal, iteration, steps, step) and returns a score, {passed, total}, a verdict or "
            "None.",
            show_default=False,
        ),
    ] = None,
    *,
    every: Annotated[int, typer.Option(help="Only each n-th iteration.", min=1)] = 1,
    last: Annotated[bool, typer.Option("--last", help="Only the last iteration.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also iterations that are judged; it is replaced.")
    ] = False,
    parallel: Annotated[int, typer.Option(help="Judgements at a time.", min=1, max=64)] = 1,
    budget_usd: BudgetOption = None,
    max_calls: CallsOption = None,
    setting: SettingOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with FILE; only what failed is judged twice."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing FILE.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; nobody is asked.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Add verdicts or scores to recordings that lack them: by a model, or by your function.

    A model is asked what the judge of a live loop is asked, so that replays
    under presets with a judge use its verdicts. Each judgement is kept as it is
    made. Exit code 1: your function failed somewhere; 2: something is left, or
    nothing got a verdict.

    \b
    Examples:
      harness rejudge a.jsonl -o b.jsonl --model gpt-4o-mini --dry-run
      harness rejudge a.jsonl -o b.jsonl --model gpt-4o-mini --budget-usd 2
      harness rejudge a.jsonl -o b.jsonl --function score.py:score --last
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import rejudge
    from harness.rejudge.spots import Choice

    asked = rejudge.Asked(
        model, function, budget_usd, max_calls, tuple(setting or ()), parallel, resume, force
    )
    choice = Choice(every, last, again)
    if dry_run:
        rejudge.estimate(paths, output, asked, choice, as_json=json)
        return
    raise typer.Exit(rejudge.run(paths, output, asked, choice, as_json=json))
