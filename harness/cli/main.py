"""The command ``harness``: what happens around every verb."""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from harness.cli import verbs
from harness.cli.app import app
from harness.errors import HarnessError, Interrupted, ReaderGone

__all__ = ["app", "main", "verbs"]


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
    own = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    debug = "--debug" in own or bool(os.environ.get("HARNESS_DEBUG"))
    if "--debug" in own[2:]:
        # Accepted behind the verb too, where people put it; behind `--` it is another program's.
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
    from harness.text import inert

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
