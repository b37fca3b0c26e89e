"""The verb ``run``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import (
    DEFAULT_STORE,
    BudgetOption,
    CallsOption,
    JsonOption,
    SettingOption,
    StoreOption,
    app,
)


@app.command()
def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Scenario files or folders (YAML, JSON Lines). Left out: the bundled scenarios.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            "--preset",
            "-p",
            help="Preset by name, or a .toml file; may be repeated. Left out: seven bundled ones. "
            "See: harness list presets",
            show_default=False,
        ),
    ] = None,
    *,
    store: StoreOption = DEFAULT_STORE,
    workers: Annotated[int, typer.Option(help="Processes that replay.", min=1)] = 1,
    observe: Annotated[
        bool, typer.Option("--observe", help="Only record; every recording runs to its end.")
    ] = False,
    repetitions: Annotated[int, typer.Option(help="Replay everything this often.", min=1)] = 1,
    name: Annotated[
        str | None,
        typer.Option("--run", help="Name of the run; left out: a new one.", show_default=False),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Go on with this run where it was broken off; paths, presets and all as before.",
            show_default=False,
            metavar="RUN",
        ),
    ] = None,
    continue_live: Annotated[
        bool,
        typer.Option(
            "--continue-live",
            help="Where a recording ends undecided or the preset leaves it, go on with a live "
            "model; without this nothing ever goes live.",
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="Live: acts. Asked at OPENAI_BASE_URL with OPENAI_API_KEY.", show_default=False
        ),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            help="Live: judges and plays the other roles; else --model does.", show_default=False
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Live: .jsonl file for what is made, as it is made; it replays with the same "
            "decisions.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            help="Live: Python file whose functions are run as tools. Other calls get the result "
            "of an identical recorded call, or fail.",
            show_default=False,
            metavar="FILE.py",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Live: also write into a --record FILE that holds something; the same episodes "
            "are replaced.",
        ),
    ] = False,
    budget_usd: BudgetOption = None,
    max_calls: CallsOption = None,
    max_live: Annotated[
        int, typer.Option(help="Live: iterations of one episode, whatever its guards say.", min=1)
    ] = 30,
    setting: SettingOption = None,
    json: JsonOption = False,
) -> None:
    """Replay scenarios under presets, store every iteration, and show what ended the loops.

    \b
    Examples:
      harness run                       the bundled scenarios under seven presets
      harness run mine.jsonl -p balanced -p ./my.toml
      harness run recordings/ -p observe --workers 2
      harness run a.jsonl --continue-live --model gpt-4o-mini --record b.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import live, run

    options = live.Options(
        model=model, judge_model=judge_model, record=record, tools=tools, budget_usd=budget_usd,
        max_calls=max_calls, settings=tuple(setting or ()), force=force,
    )  # fmt: skip
    with live.continuation(
        options, wanted=continue_live, max_live=max_live, resumed=resume is not None
    ) as going:
        run.run(
            paths or [], preset or [], store, workers=workers, observe=observe,
            repetitions=repetitions, name=name, resume=resume, as_json=json, live=going,
        )  # fmt: skip
