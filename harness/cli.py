"""The command ``harness``; the one importer of typer."""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from harness.errors import HarnessError, Interrupted, ReaderGone, choices

app = typer.Typer(
    name="harness",
    help="Replay LLM agent loops through their guards: every signal recorded, every exit explained."
    "\n\nStart with:  harness run   (replays the bundled scenarios under seven presets)",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        envvar="HARNESS_STORE",
        help="DuckDB file that holds runs.",
        show_default=True,
        metavar="FILE",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="JSON lines on standard output; the rest on standard error.")
]
DEFAULT_STORE = Path("harness.duckdb")


#: What exits are counted by.
BY = ("preset", "family", "model", "run")
#: What can be listed.
LISTED = ("scenarios", "presets", "guards", "importers", "runs", "episodes")
#: Documentation that is generated from the code.
TOPICS = ("guards", "presets", "chain", "tables", "importers", "cli", "scenario")


def _one_of(what: str, found: str, allowed: tuple[str, ...]) -> str:
    if found not in allowed:
        raise HarnessError(f"{what}: {choices(found, allowed)}")
    return found


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
    json: JsonOption = False,
) -> None:
    """Replay scenarios under presets, store every iteration, and show what ended the loops.

    \b
    Examples:
      harness run                       the bundled scenarios under seven presets
      harness run mine.jsonl -p balanced -p ./my.toml
      harness run recordings/ -p observe --workers 2
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness import cli_run

    cli_run.run(
        paths or [], preset or [], store, workers=workers, observe=observe,
        repetitions=repetitions, name=name, resume=resume, as_json=json,
    )  # fmt: skip


@app.command()
def show(
    episode: Annotated[
        str, typer.Argument(help="Episode id (or its beginning), or a scenario's id.")
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

    Decision, score, tokens, cost and time of each iteration, each guard's signal against its
    threshold, and every condition that was true.

    \b
    Examples:
      harness show reflection/plateau -p reflection
      harness show 3f2a                 an episode's id, or its beginning
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness import cli_show

    cli_show.show(store, episode, preset, in_run, as_json=json)


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
    from harness import cli_read

    cli_read.list_(
        _one_of("list", what, LISTED), store, paths or [], run_id=in_run, presets=preset or [],
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
    from harness import cli_read

    cli_read.exits(store, _one_of("exits: --by", by, BY), in_run or [], as_json=json)


@app.command()
def validate(
    paths: Annotated[
        list[str], typer.Argument(help="Scenario files or folders, or preset .toml files.")
    ],
    json: JsonOption = False,
) -> None:
    """Check scenario and preset files: one line for each that cannot be used, then exit code 2.

    \b
    Example:
      harness validate recordings/ my.toml
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness import cli_run

    cli_run.validate(paths, as_json=json)


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
    from harness import cli_score

    if health:
        from harness.score import HealthLimits

        limits = HealthLimits(quick_share, within_rounds, stagnation_share, limit_share)
        cli_score.health_check(store, in_run, preset or [], family or [], limits, as_json=json)
    else:
        cli_score.score(store, in_run, preset or [], details=details, as_json=json)


@app.command("import")
def import_(
    format: Annotated[str, typer.Argument(help="Source format; see: harness list importers")],
    path: Annotated[Path, typer.Argument(help="File or folder to read.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON Lines file to write.", metavar="FILE")
    ],
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    json: JsonOption = False,
) -> None:
    """Turn real runs recorded by others into scenarios that can be replayed.

    \b
    Example:
      harness import tau-bench gpt-4o-airline.json -o tau.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness import cli_run

    cli_run.import_(format, path, output, force=force, as_json=json)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='One SELECT; "FROM exits" is enough.')],
    store: StoreOption = DEFAULT_STORE,
    limit: Annotated[int, typer.Option(help="Show at most this many rows; 0 for all.", min=0)] = 50,
    json: JsonOption = False,
) -> None:
    """Ask the store in SQL, read-only.

    `harness docs tables` explains tables and views. Rows that are too wide for the terminal are
    shown one below the other; --json gives them whole.

    \b
    Examples:
      harness sql "SELECT guard, count(*) FROM signals WHERE fired GROUP BY guard"
      harness sql "FROM exits" --limit 0 --json > exits.jsonl
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness import cli_read

    cli_read.sql(store, query, limit, as_json=json)


@app.command()
def docs(
    topic: Annotated[str, typer.Argument(help=f"One of: {', '.join(TOPICS)}.", metavar="TOPIC")],
    json: JsonOption = False,
) -> None:
    """Print documentation generated from the code: Markdown, or JSON schema for `scenario`."""
    from harness import docs as documentation
    from harness import terminal

    text = documentation.page(_one_of("docs", topic, TOPICS), app)
    if json:
        terminal.json_line({"topic": topic, "text": text})
    else:
        terminal.write(text)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks and log messages.")
    ] = False,
) -> None:
    if version:
        from harness import __version__

        typer.echo(f"harness {__version__}")
        raise typer.Exit
    logging.basicConfig(level=logging.INFO if debug else logging.ERROR)


#: What typer raises where an option or argument is wrong.
_UsageError: Any = typer.BadParameter.__base__


def main() -> None:
    """Entry point: errors become one line and exit code 2, Ctrl-C one line and 130."""
    debug = "--debug" in sys.argv or bool(os.environ.get("HARNESS_DEBUG"))
    if "--debug" in sys.argv[2:]:
        # Accepted behind the verb too, where people put it.
        sys.argv.remove("--debug")
        sys.argv.insert(1, "--debug")
    if sys.stdout is None:  # closed by the caller: `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # An old terminal's encoding has no word for "…"; that is no reason to stop.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):
        # What is still to be written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        _fail(error, debug)
    sys.exit(_interrupted("interrupted") if code == _INTERRUPTED else code)


_INTERRUPTED = 130


def _interrupted(words: str) -> int:
    sys.stderr.write(f"harness: {words}\n")
    return _INTERRUPTED


def _fail(error: Exception, debug: bool) -> NoReturn:
    """One line for people; the traceback only for those who ask for it."""
    from harness.terminal import inert

    if type(error).__name__ == "NoArgsIsHelpError":
        # `harness` alone: the help is already on the screen.
        sys.exit(2)
    if debug:
        traceback.print_exception(error)
    sys.stderr.write(f"harness: {inert(' '.join(_words(error).split()))}\n")
    sys.exit(_INTERRUPTED if isinstance(error, Interrupted) else 2)


def _words(error: Exception) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return "the disk is full"
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "out of memory; run fewer scenarios at a time"
    return f"internal error: {type(error).__name__}: {error}; --debug shows the traceback"


def _usage(error: Any) -> str:
    """What typer found wrong with the command line, and where help is."""
    path = error.ctx.command_path if error.ctx else "harness"
    verb = path.removeprefix("harness").strip()
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    message = message[0].lower() + message[1:]
    return f"{verb + ': ' if verb else ''}{message}; see: {path} --help"


if __name__ == "__main__":
    main()
