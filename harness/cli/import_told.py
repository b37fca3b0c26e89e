"""What is told of an import."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.importers import Missing, get
from harness.importers._found import Found
from harness.importers._lint import Finding


def as_json(
    name: str, output: Path | None, keep_raw: Path | None, found: Found, findings: list[Finding]
) -> dict[str, Any]:
    """The same as ``tell`` for programs."""
    formats = {
        used: {
            "recordings": number,
            "lacks": list(get(used).LACKS),
            "exit_reason_from": get(used).EXIT_REASON,
        }
        for used, number in sorted(found.formats.items())
    }
    return {
        "format": name,
        "formats": formats,
        "recordings": found.recordings,
        "steps": found.steps,
        "outcomes": found.outcomes,
        "exit_reasons": found.reasons(),
        "endings": found.endings(),
        "tokens": found.tokens if found.with_tokens else None,
        "steps_with_tokens": found.with_tokens,
        "dates": found.dates(),
        "missing": found.missing.all,
        "missing_in_part": found.missing.some,
        "secrets_removed": found.secrets,
        "lint": [finding.as_json() for finding in findings],
        "output": None if output is None else str(output),
        "raw": None if keep_raw is None else str(keep_raw),
    }


def tell(found: Found, findings: Sequence[Finding], output: Path | None, *, in_full: bool) -> None:
    """What was imported, what is unknown of it, and what is odd; at length in a dry run."""
    console = terminal.out()
    where = "nothing was written" if output is None else f"-> {terminal.plain(str(output))}"
    between = "; " if output is None else " "
    told = f"{terminal.counted(found.recordings, 'recording')}, "
    console.print(f"{told}{terminal.counted(found.steps, 'step')}{between}{where}")
    console.print("format: " + _counted(found.formats))
    console.print("outcome: " + _counted(found.outcomes))
    reasons = (
        f"{terminal.plain(row['exit_reason'])} {row['recordings']}"
        + (f" ({row['source']})" if row["source"] != "unknown" else "")
        for row in found.endings()
    )
    console.print("exit reason: " + ", ".join(reasons))
    known = f"{found.tokens:,} in {found.with_tokens:,} of {found.steps:,} steps"
    console.print(f"tokens: {known if found.with_tokens else 'unknown'}")
    dates = found.dates()
    console.print(f"dates: {' to '.join(dates) if dates else 'unknown'}")
    if len(found.formats) == 1:
        (used,) = found.formats
        console.print(f"exit reason comes from: {get(used).EXIT_REASON}", markup=False)
        lacks = "; ".join(get(used).LACKS) or "nothing"
        console.print(f"the source lacks: {lacks}", markup=False)
    else:
        console.print("what each source lacks, and its rules: harness docs importers")
    if in_full:
        _tell_in_full(found.missing, findings)
        return
    console.print(f"missing here, {found.missing.words()}")
    if found.secrets:
        console.print(f"secrets taken out: {found.secrets}")
    for finding in findings:
        console.print(f"lint: {finding.code} in {finding.recordings}: {finding.words}")


def _tell_in_full(missing: Missing, findings: Sequence[Finding]) -> None:
    console = terminal.out()
    rows = [[part.replace("_", " "), missing.all[part], missing.some[part]] for part in missing.all]
    console.print()
    console.print(
        terminal.table(
            [("missing", "left"), ("in recordings", "right"), ("in part", "right")], rows
        )
    )
    console.print()
    if not findings:
        console.print("lint: nothing is odd")
        return
    lines: list[list[str]] = []
    for finding in findings:
        words = [finding.words, f"such as: {', '.join(finding.examples)}", f"fix: {finding.fix}"]
        text = [line for part in words for line in textwrap.wrap(part, 50)]
        lines += [
            [finding.code if not n else "", str(finding.recordings) if not n else "",
             terminal.plain(line)]
            for n, line in enumerate(text)
        ]  # fmt: skip
    console.print(
        terminal.table([("lint", "left"), ("in", "right"), ("what is odd", "left")], lines)
    )


def _counted(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{terminal.plain(name)} {number}" for name, number in ordered)
