"""Importing: which files, where to, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from harness.cli import terminal
from harness.cli.import_told import as_json, tell
from harness.errors import HarnessError, ImportFormatError, Interrupted
from harness.importers import AUTO, Source, Unknown, available, get, sources_in
from harness.importers._convert import Conversion
from harness.importers._detect import known_formats
from harness.importers._found import Found
from harness.importers._lint import Lint

#: Broken records, and files nobody knows, that are named; more are counted.
MOST_NAMED = 20


@dataclass(slots=True)
class _Chosen:
    """What there is to read.

    Attributes:
        sources: Each with its importer.
        skipped: Files of folders that no importer knows.
        problems: Paths that a user named and that cannot be read.
    """

    sources: list[Source] = field(default_factory=list)
    skipped: list[Unknown] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def import_(
    name: str,
    paths: Sequence[Path],
    output: Path | None,
    keep_raw: Path | None,
    *,
    dry_run: bool,
    strict: bool,
    force: bool,
    json: bool,
) -> bool:
    """Read, write and tell.

    Returns:
        Whether all records could be read.

    Raises:
        HarnessError: A wrong argument, nothing that could be read, or anything broken where the
            import is strict; then nothing is written.
        Interrupted: Somebody pressed Ctrl-C; nothing is written.
    """
    if name != AUTO:
        get(name)
    targets = _targets(output, keep_raw, paths, dry_run=dry_run, force=force)
    chosen = _chosen(name, paths, strict=strict)
    conversion = Conversion(chosen.sources, strict=strict, keep_raw=targets[1] is not None)
    found, lint = Found(), Lint()
    try:
        with _written(targets[1]) as raw_file, _written(targets[0]) as file:
            _carry_out(conversion, found, lint, file, raw_file)
            problems = [*chosen.problems, *conversion.problems]
            broken = len(chosen.problems) + conversion.broken
            if not found.recordings:
                raise ImportFormatError(_nothing(problems, broken, chosen, paths))
    except KeyboardInterrupt:
        raise Interrupted("import: interrupted; nothing was written") from None
    findings = lint.findings()
    _note(problems, broken, chosen.skipped)
    if json:
        terminal.json_line(
            as_json(name, output, keep_raw, found, findings)
            | {"broken": broken, "problems": problems[:MOST_NAMED], "skipped": len(chosen.skipped)}
        )
    else:
        tell(found, findings, targets[0], in_full=dry_run)
    return not broken


def _targets(
    output: Path | None, keep_raw: Path | None, paths: Sequence[Path], *, dry_run: bool, force: bool
) -> tuple[Path | None, Path | None]:
    """The files to write, of which there are none in a dry run."""
    if output is None and not dry_run:
        raise HarnessError("import: --output: name a .jsonl file to write, or use --dry-run")
    if output is not None and output == keep_raw:
        raise HarnessError(f"import: --keep-raw: must be another file than --output, {output}")
    for option, target in (("--output", output), ("--keep-raw", keep_raw)):
        if target is None:
            continue
        if target.suffix != ".jsonl":
            raise HarnessError(f"import: {option}: must end in .jsonl, found {str(target)!r}")
        if target.is_dir():
            raise HarnessError(f"import: {option}: {target} is a folder; name a file")
        if any(path.exists() and target.exists() and path.samefile(target) for path in paths):
            raise HarnessError(f"import: {option}: {target} is what is read; name another file")
        if target.exists() and not force and not dry_run:
            raise HarnessError(f"import: {option}: {target} exists; --force writes over it")
        if not target.parent.is_dir():
            raise HarnessError(f"import: {option}: folder {target.parent} does not exist")
    return (None, None) if dry_run else (output, keep_raw)


def _chosen(name: str, paths: Iterable[Path], *, strict: bool) -> _Chosen:
    """What the paths hold, each file once."""
    chosen = _Chosen()
    seen: set[Path] = set()
    for path in paths:
        try:
            inside = [Source(path, name)] if name != AUTO else sources_in(path)
        except ImportFormatError as error:
            if strict:
                raise
            chosen.problems.append(str(error))
            continue
        for one in inside:
            if (real := one.path.resolve()) in seen:
                continue
            seen.add(real)
            if isinstance(one, Source):
                chosen.sources.append(one)
            elif one.several or one.path == path:
                problem = f"{one.path}: {one.reason}"
                if not one.several:
                    problem += f"; {known_formats(available())}"
                if strict:
                    raise ImportFormatError(problem)
                chosen.problems.append(problem)
            else:
                chosen.skipped.append(one)
    return chosen


def _carry_out(
    conversion: Conversion,
    found: Found,
    lint: Lint,
    file: IO[bytes] | None,
    raw_file: IO[bytes] | None,
) -> None:
    bar = terminal.ProgressBar("importing, MB")
    try:
        for item in conversion.items():
            if file is not None:
                file.write(item.line)
            if raw_file is not None and item.raw_line is not None:
                raw_file.write(item.raw_line)
            found.add(item.subject)
            lint.add(item.subject)
            bar.update(conversion.done_bytes >> 20, conversion.total_bytes >> 20)
    finally:
        bar.close()


@contextmanager
def _written(target: Path | None) -> Iterator[IO[bytes] | None]:
    """A file that has its name only once it is whole."""
    if target is None:
        yield None
        return
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _nothing(problems: list[str], broken: int, chosen: _Chosen, paths: Sequence[Path]) -> str:
    """Why nothing could be read, in one line."""
    if problems:
        return problems[0] + (f" (and {broken - 1} more)" if broken > 1 else "")
    where = ", ".join(map(str, paths))
    if not chosen.skipped:
        return f"import: {where}: holds no recording"
    first = chosen.skipped[0]
    return (
        f"import: {where}: none of {len(chosen.skipped)} files is known; {first.path}: "
        f"{first.reason}; {known_formats(available())}"
    )


def _note(problems: Sequence[str], broken: int, skipped: Sequence[Unknown]) -> None:
    """What is missing, on standard error."""
    notes = terminal.err()
    for problem in problems[:MOST_NAMED]:
        notes.print(terminal.plain(f"harness: {problem}"))
    if broken > MOST_NAMED:
        notes.print(f"harness: ... and {broken - MOST_NAMED} more")
    for one in skipped[:MOST_NAMED]:
        notes.print(terminal.plain(f"skipped: {one.path}: {one.reason}"))
    if len(skipped) > MOST_NAMED:
        notes.print(f"skipped: ... and {len(skipped) - MOST_NAMED} more")
    if skipped:
        notes.print(f"{known_formats(available())}")
