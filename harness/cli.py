"""The command ``harness``; the one importer of typer."""

from __future__ import annotations

import errno
import logging
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError

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


class By(StrEnum):
    """What exits are counted by."""

    preset = "preset"
    family = "family"
    model = "model"
    run = "run"


class Listed(StrEnum):
    """What can be listed."""

    scenarios = "scenarios"
    presets = "presets"
    guards = "guards"
    importers = "importers"
    runs = "runs"
    episodes = "episodes"


class Topic(StrEnum):
    """Documentation that is generated from the code."""

    guards = "guards"
    presets = "presets"
    chain = "chain"
    tables = "tables"
    importers = "importers"
    cli = "cli"
    scenario = "scenario"


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
            help="Go on with this run where it was broken off; paths and presets as before.",
            show_default=False,
            metavar="RUN",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Replay scenarios under presets, store every iteration, and show what ended the loops.

    \b
    Examples:
      harness run                                     bundled scenarios, seven presets
      harness run mine.jsonl -p balanced -p ./my.toml
      harness run recordings/ -p observe --workers 2  record all signals, end nothing
    """
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
    in_run: Annotated[str | None, typer.Option("--run", help="In this run; else the latest.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show one episode: decision, score, tokens and cost of each iteration, each guard's signal
    against its threshold, and what was true when it ended.

    \b
    Examples:
      harness show 3f2a
      harness show reflection/plateau -p reflection
    """
    from harness import cli_read

    cli_read.show(store, episode, preset, in_run, as_json=json)


@app.command("list")
def list_(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="For scenarios: files or folders; left out: the bundled ones.",
                       show_default=False),
    ] = None,
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
    """List scenarios, presets, guards, importers, runs or episodes."""
    from harness import cli_read

    cli_read.list_(
        what.value, store, paths or [], in_run, preset or [], reason or [], as_json=json
    )


@app.command()
def exits(
    by: Annotated[By, typer.Option("--by", help="Count by this.")] = By.preset,
    in_run: Annotated[
        list[str] | None,
        typer.Option("--run", help="Only this run; may be repeated. Left out: the latest "
                     "(with --by run: all).", show_default=False),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show exit-reason distributions: what ended the loops, after how many rounds, at what cost.

    \b
    Examples:
      harness exits --by family
      harness exits --by run        the trend over runs
    """
    from harness import cli_read

    cli_read.exits(store, by.value, in_run or [], as_json=json)


@app.command()
def validate(
    paths: Annotated[
        list[str], typer.Argument(help="Scenario files or folders, or preset .toml files.")
    ],
    json: JsonOption = False,
) -> None:
    """Check scenario and preset files; every problem in one line, exit code 2 if there is any."""
    from harness import cli_run

    cli_run.validate(paths, as_json=json)


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
    """
    from harness import cli_run

    cli_run.import_(format, path, output, force=force, as_json=json)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='One SELECT; "FROM exits" is enough.')],
    store: StoreOption = DEFAULT_STORE,
    limit: Annotated[int, typer.Option(help="Show at most this many rows; 0 for all.", min=0)] = 50,
    json: JsonOption = False,
) -> None:
    """Ask the store in SQL, read-only. `harness docs tables` explains tables and views.

    \b
    Example:
      harness sql "SELECT guard, count(*) FROM signals WHERE fired GROUP BY guard"
    """
    from harness import cli_read

    cli_read.sql(store, query, limit, as_json=json)


@app.command()
def docs(
    topic: Annotated[Topic, typer.Argument(help="What about.")],
) -> None:
    """Print documentation generated from the code: Markdown, or JSON schema for `scenario`."""
    from harness import docs as documentation

    sys.stdout.write(documentation.page(topic.value, app))


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


def main() -> None:
    """Entry point: errors become one line and exit code 2."""
    debug = "--debug" in sys.argv or bool(os.environ.get("HARNESS_DEBUG"))
    if "--debug" in sys.argv[2:]:
        # Accepted behind the verb too, where people put it.
        sys.argv.remove("--debug")
        sys.argv.insert(1, "--debug")
    try:
        app()
    except HarnessError as error:
        _fail(str(error), debug, error)
    except BrokenPipeError:
        # The reader went away (`| head`); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        words = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        _fail(words, debug, error)
    except MemoryError as error:
        _fail("out of memory; run fewer scenarios at a time", debug, error)
    except Exception as error:  # the last resort, so that users never see a bare traceback
        _fail(f"internal error: {type(error).__name__}: {error}; --debug shows the traceback",
              debug, error)


def _fail(message: str, debug: bool, error: BaseException) -> None:
    if debug:
        raise error
    sys.stderr.write("harness: " + " ".join(message.split()) + "\n")
    sys.exit(2)

