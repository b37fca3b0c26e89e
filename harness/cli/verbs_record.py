"""The verb ``record``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import JsonOption, app


@app.command(context_settings={"allow_interspersed_args": False})
def record(
    command: Annotated[
        list[str],
        typer.Argument(
            help="The program and its arguments.", metavar="-- COMMAND...", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The recording, JSON Lines; episodes are added.", metavar="FILE"
        ),
    ] = Path("recording.jsonl"),
    mode: Annotated[
        str,
        typer.Option(
            envvar="HARNESS_RECORD_MODE",
            help="all: record everything, as further episodes. none: only replay, no network. "
            "once: record if FILE is not there, else as none. new_episodes: answer what is "
            "recorded, record the rest.",
            metavar="MODE",
        ),
    ] = "all",
    idle: Annotated[
        float | None,
        typer.Option(
            help="Group calls by time: those without a shared history belong together, until "
            "nothing is asked for so many seconds. Left out: time plays no part.",
            show_default=False,
            min=0,
            metavar="SECONDS",
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            help="Address of the OpenAI-compatible provider. Left out: OPENAI_BASE_URL as it is "
            "now, else OpenAI.",
            show_default=False,
            metavar="URL",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="First part of the episodes' ids, their family.")
    ] = "recorded",
    nudge: Annotated[
        bool,
        typer.Option("--nudge", help="Later user messages are the framework's, not a person's."),
    ] = False,
    secrets: Annotated[
        list[Path] | None,
        typer.Option(
            help="A .toml file with further patterns of secrets; may be repeated.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run any program unchanged and record what it asks its models, as episodes to replay.

    A proxy on this machine stands between the program and its provider, whatever
    the language: OPENAI_BASE_URL, OPENAI_API_BASE and ANTHROPIC_BASE_URL point at
    it. It records chat completions, responses and Anthropic messages, streamed or
    not. Secrets are taken out before anything is written; headers never are. The
    exit code is the program's, or 2 if it succeeded although the recording could
    not answer it or could not be written, or no model was asked here.

    Calls are one episode if they carry the same header x-harness-episode; else if
    the messages of one begin the next one's; else, with --idle, if little time
    lies between. A tag of each episode says which: grouped:header,
    grouped:prefix, grouped:idle.

    This verb records (mode all) unless told otherwise; harness.record.cassette()
    of Python replays (mode none) unless told otherwise. A replay answers the n-th
    request of an episode with its n-th reply; one that brings something else is
    counted as drift: other results or messages, another system prompt, other
    tools, another model, other settings.

    \b
    Examples:
      harness record -- python agent.py
      harness record -o a.jsonl --upstream http://localhost:8080/v1 -- ./agent
      harness record -o a.jsonl --mode none -- node agent.js      without a model
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import record

    record.record(
        command, output, mode, idle=idle, upstream=upstream, name=name,
        said="nudge" if nudge else "user", secrets=secrets or [], as_json=json,
    )  # fmt: skip
