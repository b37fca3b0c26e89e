"""What the verbs of the command line share: the application, options, and their choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError, choices

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
#: Kept as text, so that the budget is exact.
BudgetOption = Annotated[
    str | None,
    typer.Option(
        help="Live models: stop before the call at which this much is spent.",
        show_default=False,
        metavar="USD",
    ),
]
CallsOption = Annotated[
    int | None, typer.Option(help="Live models: most calls.", min=1, show_default=False)
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Live models: a setting sent with each request, as JSON; null leaves one out "
        "(temperature=null); may be repeated.",
        show_default=False,
        metavar="NAME=JSON",
    ),
]
DEFAULT_STORE = Path("harness.duckdb")


#: What exits are counted by.
BY = ("preset", "family", "model", "run")
#: What can be listed.
LISTED = ("scenarios", "presets", "guards", "importers", "runs", "episodes")
#: Documentation that is generated from the code.
TOPICS = ("guards", "presets", "chain", "tables", "importers", "lint", "cli", "scenario")


def one_of(what: str, found: str, allowed: tuple[str, ...]) -> str:
    """``found``, if it is allowed.

    Raises:
        HarnessError: It is not; names the choices.
    """
    if found not in allowed:
        raise HarnessError(f"{what}: {choices(found, allowed)}")
    return found
