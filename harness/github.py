"""What GitHub reads: annotations in the log of a job, and Markdown in a comment.

Recorded text is hostile here too: it must neither become a command of the runner nor markup.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from harness.text import inert

Level = Literal["error", "warning", "notice"]
#: Everything that Markdown, HTML or GitHub's own links could read something into.
_MARKUP = re.compile(r"[^\w ./-]", re.ASCII)


def running_there() -> bool:
    """Whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(
    level: Level, message: str, *, title: str, file: str | None = None, line: int | None = None
) -> str:
    """One workflow command that GitHub shows beside the change, without its line end.

    The escapes are those of GitHub's toolkit (``@actions/core``, command.ts).

    Args:
        level: How it is shown.
        message: May have several lines.
        title: Headline.
        file: Path in the repository, where it belongs to one.
        line: From 1, with ``file`` only.
    """
    properties = {"title": title, "file": file, "line": None if file is None else line}
    given = ",".join(f"{k}={_property(str(v))}" for k, v in properties.items() if v is not None)
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    # Line ends are encoded; all else that steers a terminal or the runner is shown.
    ends = text.replace("\r\n", "\n").replace("%", "%25").replace("\r", "%0D")
    return inert(ends).replace("\n", "%0A").replace("##[", "\\u0023#[")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def one_line(text: str) -> str:
    """Recorded text inside a line of a log: one line, and no command of the runner.

    The runner obeys ``::name::`` at the beginning of a line and ``##[name]`` anywhere.
    """
    shown = inert(text).replace("\n", "\\u000a").replace("\t", "\\u0009")
    return shown.replace("##[", "\\u0023#[")


def literal(text: str, most: int = 160) -> str:
    """Recorded text as inline code in Markdown: nothing in it is markup, a link or a mention."""
    shown = one_line(text)
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return f"<code>{_MARKUP.sub(lambda match: f'&#{ord(match[0])};', shown)}</code>"


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; recorded text goes through ``literal`` first."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def folded(summary: str, body: str) -> str:
    """A part that is closed until somebody opens it."""
    return f"<details><summary>{summary}</summary>\n\n{body.rstrip()}\n\n</details>\n"
