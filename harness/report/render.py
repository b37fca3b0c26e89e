"""A report in a format: the templates under ``reports/templates``, filled."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.github import grid, literal
from harness.report.blocks import Picture, Recorded, Report, Sentence, Table
from harness.report.picture import svg
from harness.text import inert

Format = Literal["html", "md"]
FORMATS: tuple[Format, ...] = ("html", "md")
#: A comment of a pull request has 65,536 characters; longer tables are cut in Markdown.
_MARKDOWN_ROWS = 40
_BAR = 20


def folder() -> Path:
    """Where the templates are."""
    packaged = Path(str(files("harness"))) / "reports"
    place = packaged if packaged.is_dir() else Path(str(files("harness"))).parent / "reports"
    return place / "templates"


def render(found: Report, form: Format) -> str:
    """The report as a text: the same bytes for the same figures."""
    made = Environment(
        loader=FileSystemLoader(folder()), autoescape=form == "html",  # noqa: S701 - Markdown has filters of its own
        undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    if form == "html":
        made.filters.update(sentence=_html_sentence, cell=_html_text, picture=_picture)
    else:
        made.filters.update(sentence=_markdown_sentence, table=_markdown_table)
    return made.get_template(f"report.{form}.j2").render(report=found)


# -- HTML ----------------------------------------------------------------------------------------


def _html_text(text: str) -> Markup:
    # Escaped here as well, so that no template can forget it.
    if isinstance(text, Recorded):
        # A direction inside a recorded name ends with it.
        return Markup("<bdi>{}</bdi>").format(inert(text))
    return escape(text)


def _html_sentence(sentence: Sentence) -> Markup:
    return Markup("").join(_html_text(part) for part in sentence)


def _picture(picture: Picture) -> Markup:
    # Made from a list of allowed elements and attributes, each value escaped.
    return Markup(svg(picture.draw(), picture.name, "".join(picture.question)))  # noqa: S704


# -- Markdown ------------------------------------------------------------------------------------


def _markdown_text(text: str, most: int = 160) -> str:
    if isinstance(text, Recorded):
        return literal(text, most) if text else ""
    # Our own words hold no markup but what Markdown would read into them.
    for mark in "$|*_<>":
        text = text.replace(mark, f"&#{ord(mark)};")
    return text


def _markdown_sentence(sentence: Sentence) -> str:
    return "".join(_markdown_text(part, 400) for part in sentence)


def _markdown_table(table: Table) -> str:
    at = table.header.index(">share") if ">share" in table.header else None
    shown = []
    for row in table.rows[:_MARKDOWN_ROWS]:
        cells = [_markdown_text(cell) for cell in row]
        if at is not None:
            cells[at] = f"{_bar(row[at])} {cells[at]}".strip()
        shown.append(cells)
    left = len(table.rows) - len(shown)
    more = f"and {left:,} more rows" if left else table.more
    return grid(table.names, shown) + (f"\n… {more}\n" if more else "")


def _bar(percent: str) -> str:
    """A share as a bar of text."""
    if not percent.endswith("%"):
        return ""
    return "█" * round(float(percent[:-1]) / 100 * _BAR)
