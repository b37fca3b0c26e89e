"""The verb ``report``: a run as a document, into a file or to standard output."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from harness.cli import terminal
from harness.cli.app import one_of
from harness.errors import HarnessError
from harness.github import one_line
from harness.report import FORMATS, Format, render, report
from harness.store.database import Store

_ENDINGS: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}


def write(
    store_path: Path,
    run_id: str | None,
    base: str | None,
    form: str | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Make the report and put it where it was asked for."""
    chosen = _format(form, output)
    if as_json and output is None:
        raise HarnessError("report: --json says where the file is; give --output FILE")
    if output is not None and output.is_dir():
        raise HarnessError(f"report: --output: {output} is a folder; name a file")
    if output is not None and not output.parent.is_dir():
        raise HarnessError(f"report: --output: folder {output.parent} does not exist")
    found = report(Store(store_path), run_id, base)
    text = render(found, chosen)
    if output is None:
        terminal.write(text)
        return
    data = text.encode("utf-8")
    _replace(output, data)
    if as_json:
        terminal.json_line({"output": str(output), "format": chosen, "bytes": len(data)})
    else:
        name = terminal.plain(one_line(str(output)))
        terminal.out().print(f"{name}: {terminal.plain(''.join(found.title))}, {len(data):,} bytes")


def _format(form: str | None, output: Path | None) -> Format:
    if form is not None:
        return cast("Format", one_of("report: --format", form, FORMATS))
    if output is None:
        return "md"
    if output.suffix.lower() not in _ENDINGS:
        raise HarnessError(
            f"report: --output: cannot tell the format by the ending of {output.name!r}; give "
            f"--format, one of: {', '.join(FORMATS)}"
        )
    return _ENDINGS[output.suffix.lower()]


def _replace(path: Path, data: bytes) -> None:
    """All or nothing, by way of a file beside it."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise HarnessError(f"report: --output: {path}: cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
