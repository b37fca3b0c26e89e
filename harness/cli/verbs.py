"""The verbs that read and judge: their arguments and help; the work is done elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import verbs_run  # noqa: F401 - listed first
from harness.cli.app import BY, DEFAULT_STORE, LISTED, TOPICS, JsonOption, StoreOption, app, one_of


@app.command()
def show(
    episode: Annotated[
        str,
        typer.Argument(
            help="Episode id (or its beginning), a scenario's id, or a scenario file, which is "
            "replayed (cases.jsonl::id names one of several)."
        ),
    ],
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help="Of a scenario: under this preset.")
    ] = None,
    in_run: Annotated[
        str | None, typer.Option("--run", help="In this run; else the latest.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show one episode, iteration by iteration.

    Decision, score, tokens, cost and time of each iteration, each guard's signal
    against its threshold, and every condition that was true.

    \b
    Examples:
      harness show reflection/plateau -p reflection
      harness show 3f2a                 an episode's id, or its beginning
      harness show mine.yaml -p my.toml         replayed, nothing is stored
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import show

    show.show(store, episode, preset, in_run, as_json=json)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help=f"One of: {', '.join(LISTED)}.", metavar="WHAT")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="For scenarios: files or folders; left out: the bundled ones.",
            show_default=False,
        ),
    ] = None,
    *,
    in_run: Annotated[str | None, typer.Option("--run", help="Episodes of this run.")] = None,
    preset: Annotated[
        list[str] | None, typer.Option("--preset", "-p", help="Episodes under this preset.")
    ] = None,
    reason: Annotated[
        list[str] | None, typer.Option("--reason", help="Episodes that ended for this reason.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """List scenarios, presets, guards, importers, runs or episodes.

    \b
    Examples:
      harness list presets
      harness list episodes --reason stagnation --preset balanced
      harness list scenarios recordings/
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import read

    read.list_(
        one_of("list", what, LISTED), store, paths or [], run_id=in_run, presets=preset or [],
        reasons=reason or [], as_json=json,
    )  # fmt: skip


@app.command()
def exits(
    by: Annotated[
        str, typer.Option("--by", help=f"Count by: {', '.join(BY)}.", metavar="KEY")
    ] = "preset",
    in_run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            help="Only this run; may be repeated. Left out: the latest (with --by run: all).",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show exit-reason distributions: what ended the loops, after how many rounds, at what cost.

    \b
    Examples:
      harness exits --by family
      harness exits --by run        the trend over runs
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import read

    read.exits(store, one_of("exits: --by", by, BY), in_run or [], as_json=json)


@app.command()
def validate(
    paths: Annotated[
        list[str], typer.Argument(help="Scenario files or folders, or preset .toml files.")
    ],
    secrets: Annotated[
        bool,
        typer.Option("--secrets", help="Instead: list secrets in files of any kind; 1 if any."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Check scenario and preset files: one line for each that cannot be used, then exit code 2.

    \b
    Examples:
      harness validate recordings/ my.toml
      harness validate --secrets recordings/     never shows the secret itself
    """  # noqa: D301 - \b keeps the lines of an example apart
    if secrets:
        from harness.cli import secrets as looking

        looking.check(paths, as_json=json)
        return
    from harness.cli import run

    run.validate(paths, as_json=json)


@app.command()
def score(
    preset: Annotated[
        list[str] | None, typer.Option("--preset", "-p", help="Only this preset; may be repeated.")
    ] = None,
    in_run: Annotated[str | None, typer.Option("--run", help="This run; else the latest.")] = None,
    details: Annotated[
        bool, typer.Option("--details", help="List the episodes that ended unexpectedly.")
    ] = False,
    health: Annotated[
        bool,
        typer.Option("--health", help="Instead: does each preset act like a healthy loop?"),
    ] = False,
    family: Annotated[
        list[str] | None, typer.Option("--family", help="Health: only scenarios of this family.")
    ] = None,
    quick_share: Annotated[
        float, typer.Option(help="Health: least share ending on quality in time.", min=0, max=1)
    ] = 0.60,
    within_rounds: Annotated[int, typer.Option(help="Health: in time is within.", min=0)] = 2,
    stagnation_share: Annotated[
        float, typer.Option(help="Health: most that may end on stagnation.", min=0, max=1)
    ] = 0.25,
    limit_share: Annotated[
        float, typer.Option(help="Health: most that may end on a limit.", min=0, max=1)
    ] = 0.05,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Compare endings with what a sensible user expects (the scenarios' truth), by preset.

    \b
    Examples:
      harness score --details
      harness score --health --family reflection
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import score

    if health:
        from harness.score import HealthLimits

        limits = HealthLimits(quick_share, within_rounds, stagnation_share, limit_share)
        score.health_check(store, in_run, preset or [], family or [], limits, as_json=json)
    else:
        score.score(store, in_run, preset or [], details=details, as_json=json)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='One SELECT; "FROM exits" is enough.')],
    store: StoreOption = DEFAULT_STORE,
    limit: Annotated[int, typer.Option(help="Show at most this many rows; 0 for all.", min=0)] = 50,
    json: JsonOption = False,
) -> None:
    """Ask the store in SQL, read-only.

    `harness docs tables` explains tables and views. Rows that are too wide for
    the terminal are shown one below the other; --json gives them whole.

    \b
    Examples:
      harness sql "SELECT guard, count(*) FROM signals WHERE fired GROUP BY guard"
      harness sql "FROM exits" --limit 0 --json > exits.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import read

    read.sql(store, query, limit, as_json=json)


@app.command()
def docs(
    topic: Annotated[str, typer.Argument(help=f"One of: {', '.join(TOPICS)}.", metavar="TOPIC")],
    json: JsonOption = False,
) -> None:
    """Print documentation generated from the code: Markdown, or JSON schema for `scenario`."""
    from harness import docs as documentation
    from harness.cli import terminal

    text = documentation.page(one_of("docs", topic, TOPICS), app)
    if json:
        terminal.json_line({"topic": topic, "text": text})
    else:
        terminal.write(text)


from harness.cli import (  # noqa: E402, F401 - listed behind these
    verbs_collect,
    verbs_compare,
    verbs_dashboard,
    verbs_export,
    verbs_import,
    verbs_lint,
    verbs_minimise,
    verbs_record,
    verbs_rejudge,
    verbs_report,
    verbs_store,
    verbs_tune,
)
