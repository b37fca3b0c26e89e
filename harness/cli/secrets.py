"""`harness validate --secrets`: secrets in files that exist; what they are is never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from harness.cli import terminal
from harness.errors import HarnessError
from harness.files import SUFFIXES
from harness.redact import find, places


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret: in which file and line, of which recording, by which rule, at which key."""

    path: str
    line: int
    rule: str
    id: str | None = None
    at: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}: "
        return where + (f"{self.id}: " if self.id else "") + self.rule + (
            f" at {self.at}" if self.at else ""
        )  # fmt: skip


def check(paths: Sequence[str], *, as_json: bool) -> None:
    """List the secrets; exit code 1 where there are any."""
    files = list(_files(paths))
    if not files:
        raise HarnessError(f"validate: --secrets: no files in {', '.join(paths)}")
    found = _found(files)
    for finding in found:
        if as_json:
            terminal.json_line(asdict(finding))
        else:
            terminal.out().print(terminal.plain(str(finding)), soft_wrap=True)
    if not as_json:
        terminal.err().print(
            f"{terminal.counted(len(found), 'secret')} in {terminal.counted(len(files), 'file')}"
        )
    if found:
        raise typer.Exit(1)


def _found(files: Sequence[Path]) -> list[Finding]:
    """All secrets, told only at the end: a bar stands where they would be."""
    total = sum(file.stat().st_size for file in files)
    found: list[Finding] = []
    bar = terminal.ProgressBar("looking for secrets, MB")
    done = 0
    try:
        for file in files:
            for size, findings in findings_in(file):
                found += findings
                done += size
                bar.update(done >> 20, total >> 20)
    finally:
        bar.close()
    return found


def _files(paths: Sequence[str]) -> Iterator[Path]:
    """Files that are named, whatever they are, and recordings in folders."""
    for name in paths:
        path = Path(name)
        if path.is_dir():
            yield from (p for p in sorted(path.rglob("*")) if p.suffix in SUFFIXES and p.is_file())
        elif path.is_file():
            yield path
        else:
            raise HarnessError(f"validate: --secrets: {path} does not exist")


def findings_in(path: Path) -> Iterator[tuple[int, list[Finding]]]:
    """What each part of a file holds, with the part's size in bytes."""
    try:
        if path.suffix == ".jsonl":
            with path.open("rb") as file:
                for number, raw in enumerate(file, 1):
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                    yield len(raw), list(_in_line(path, number, line))
            return
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HarnessError(f"validate: --secrets: {path} is not UTF-8 text") from None
    yield (
        len(raw),
        [Finding(str(path), text.count("\n", 0, each.start) + 1, each.rule) for each in find(text)],
    )


def _in_line(path: Path, number: int, line: str) -> Iterator[Finding]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        for each in find(line):
            yield Finding(str(path), number, each.rule)
        return
    name = data.get("id") if isinstance(data, dict) else None
    if not isinstance(name, str) or find(name):
        name = None
    for rule, at in places(data):
        yield Finding(str(path), number, rule, name, at or None)
