"""The verbs ``compare`` and ``bless``: baselines for regression tests of guard behaviour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.cli import terminal
from harness.compare.baseline import accept, bless, side
from harness.compare.changes import Change, parse_tolerances, shown
from harness.compare.file import Ended, Key, is_baseline, read, text_of
from harness.compare.pairs import Comparison, compare
from harness.compare.words import (
    Summary,
    changed,
    finding,
    mark,
    markdown,
    records,
    smallest,
    summaries,
    values,
    verdict,
    worth_telling,
)
from harness.errors import HarnessError, choices
from harness.github import annotation, one_line, running_there
from harness.store.database import Store

#: So many lines and pairs are shown; --json has all.
_SHOWN = 20
_STYLES = {"worse": "red", "lost": "yellow", "better": "green"}


def run_compare(
    base: str,
    candidate: str,
    store: Path,
    base_store: Path | None,
    *,
    tolerances: list[str],
    presets: list[str],
    alpha: float,
    markdown_file: str | None,
    as_json: bool,
) -> int:
    """Compare, show, say why; returns the exit code: 0 fine, 1 regression, 2 not measurable."""
    if not 0 < alpha < 1:
        raise HarnessError(f"compare: --alpha: must be between 0 and 1, found {alpha:g}")
    if as_json and markdown_file == "-":
        raise HarnessError("compare: --json and --markdown -: both go to standard output")
    allowed = parse_tolerances(tolerances)
    found = compare(
        side("BASE", base, base_store or store),
        side("CANDIDATE", candidate, store),
        allowed,
        presets=presets,
        alpha=alpha,
    )
    if markdown_file is not None and markdown_file != "-":
        _write(Path(markdown_file), markdown(found), "compare: --markdown")
    if as_json:
        for record in records(found):
            terminal.json_line(record)
    elif markdown_file == "-":
        terminal.write(markdown(found))
    else:
        _print(found)
    _explain(found)
    return found.exit_code


def run_bless(
    run_id: str,
    store_path: Path,
    *,
    name: str,
    output: Path | None,
    presets: list[str],
    as_json: bool,
) -> None:
    """Name a run as a baseline, and write it as text where asked."""
    if presets and output is None:
        raise HarnessError("bless: --preset chooses what --output FILE holds; give both")
    store = Store(store_path)
    episodes = accept(store, run_id).episodes
    known = {key[1] for key in episodes}
    for preset in presets:
        if preset not in known:
            raise HarnessError(f"bless: --preset: {choices(preset, known)}")
    kept = {key: one for key, one in episodes.items() if not presets or key[1] in presets}
    counts = None if output is None else _update(output, kept)
    before = bless(store, run_id, name)
    if as_json:
        terminal.json_line({
            "name": name, "run_id": run_id, "before": before, "store": str(store_path),
            "episodes": len(kept), "output": None if output is None else str(output),
            "counts": counts,
        })  # fmt: skip
        return
    console = terminal.out()
    console.print(
        f"{terminal.plain(one_line(name))} is now run {terminal.plain(one_line(run_id))}"
        + (f" (was {terminal.plain(one_line(before))})" if before not in (None, run_id) else "")
    )
    if output is not None:
        many = terminal.counted(len(kept), "episode")
        told = "new" if counts is None else ", ".join(f"{n} {word}" for word, n in counts.items())
        console.print(f"{terminal.plain(one_line(str(output)))}: {many}; {told}")


def _update(path: Path, episodes: dict[Key, Ended]) -> dict[str, int] | None:
    """Write the file; what that changed in counts, ``None`` where nothing could be compared."""
    counts = None
    if path.is_file():
        if not is_baseline(path):
            raise HarnessError(
                f"bless: --output: {path} exists and is no baseline; choose another file"
            )
        try:
            before = read(path)
        except HarnessError as error:
            # Broken by a merge, say: blessing anew is how it is mended.
            terminal.err().print(terminal.plain(one_line(f"replaced what was broken: {error}")))
        else:
            both = before.keys() & episodes.keys()
            counts = {
                "changed": sum(before[key] != episodes[key] for key in both),
                "new": len(episodes.keys() - both),
                "gone": len(before.keys() - both),
            }
    _write(path, text_of(episodes.values()), "bless: --output")
    return counts


def _write(path: Path, text: str, what: str) -> None:
    """All or nothing, by way of a file beside it."""
    if path.is_dir():
        raise HarnessError(f"{what}: {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise HarnessError(f"{what}: folder {path.parent} does not exist")
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(text.encode("utf-8"))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# -- what people read ----------------------------------------------------------------------------


def _name(text: str, most: int) -> str:
    return terminal.plain(one_line(text), most=most)


def _explain(found: Comparison) -> None:
    """Why, one line each on standard error; annotations where GitHub reads them."""
    stream = terminal.err()
    for note in found.notes:
        stream.print(terminal.plain(one_line(f"note: {note}")))
    reasons = found.reasons
    for reason in reasons[:_SHOWN]:
        stream.print(terminal.plain(one_line(reason)))
        if running_there():
            title = f"harness compare: {reason.partition(':')[0]}"
            stream.print(terminal.plain(annotation("error", reason, title=title)))
    if len(reasons) > _SHOWN:
        stream.print(f"... and {len(reasons) - _SHOWN} more; --json has all")


def _print(found: Comparison) -> None:
    console = terminal.out()
    columns: list[tuple[str, terminal.Justify]]
    differing = changed(found)
    if differing:
        # Recorded text never begins a line: GitHub's runner would obey it.
        columns = [
            ("", "left"), ("scenario, preset", "left"), ("metric", "left"), ("base", "left"),
            ("candidate", "left"),
        ]  # fmt: skip
        told = [values(change) for change in differing[:_SHOWN]]
        # What is left of 80 columns beside mark, metric and both values.
        taken = sum(max(len(row[i]) for rows in told for row in rows) + 1 for i in range(3))
        most = min(28, max(10, 80 - len("better ") - taken))
        rows = [row for change in differing[:_SHOWN] for row in _pair(change, most)]
        console.print(terminal.table(columns, rows))
    if len(differing) > _SHOWN:
        console.print(f"... and {len(differing) - _SHOWN} more pairs; --json has all")
    by_preset = summaries(found.changes)
    if by_preset:
        columns = [
            ("pairs", "right"), ("preset", "left"), ("worse", "right"), ("better", "right"),
            ("success", "right"), ("iterations", "right"), ("cost", "right"), ("best", "right"),
        ]  # fmt: skip
        console.print(terminal.table(columns, _by_preset(by_preset)))
    _statistics(found)
    style = ("green", "red", "yellow")[found.exit_code]
    console.print(f"[{style}]{verdict(found)}[/]")


def _pair(change: Change, most: int) -> Iterator[Sequence[str]]:
    word = mark(change)
    repetition = f" #{change.base.repetition}" if change.base.repetition else ""
    names = [
        _name(change.base.scenario, most),
        f"  {_name(change.base.preset, most - 2 - len(repetition))}{repetition}",
    ]
    found = values(change)
    for i in range(max(len(names), len(found))):
        yield (
            f"[{_STYLES.get(word, 'dim')}]{word}[/]" if i == 0 else "",
            names[i] if i < len(names) else "",
            *(found[i] if i < len(found) else ("", "", "")),
        )


def _by_preset(found: Sequence[Summary]) -> Iterator[Sequence[object]]:
    for one in found:
        cost, best = one.cost_pico_usd, one.best_score
        spent = None if cost is None else cost[1] - cost[0]
        dollars = "?" if spent is None else shown("cost", 0, abs(spent))[1]
        yield (
            one.pairs,
            _name(one.preset, 18),
            one.regressions or "·",
            one.improvements or "·",
            f"{one.success[1]} {_signed(one.success[1] - one.success[0])}",
            f"{one.iterations[1]} {_signed(one.iterations[1] - one.iterations[0])}",
            dollars if not spent else f"{'+' if spent > 0 else '-'}{dollars}",
            "?" if best is None else f"{terminal.number(best[1])} {_signed(best[1] - best[0])}",
        )


def _signed(value: float) -> str:
    return f"({value:+.3g})" if value else "(=)"


def _statistics(found: Comparison) -> None:
    told = [test for test in found.tests if worth_telling(test)]
    if not told:
        return
    columns: list[tuple[str, terminal.Justify]] = [
        ("metric", "left"), ("preset", "left"), ("worse by", "left"), ("p", "right"),
        ("smallest", "right"), ("", "left"),
    ]  # fmt: skip
    console = terminal.out()
    console.print(terminal.table(columns, (
        (
            test.answer.metric.replace("_", " "), _name(test.answer.preset, 16),
            finding(test.answer), f"{test.answer.adjusted:.2g}", smallest(test.answer),
            "decides" if test.decides else "",
        )
        for test in told
    )))  # fmt: skip
    console.print(
        "[dim]worse by: mean over scenarios and its confidence interval; p: that chance alone "
        "does this (Holm); smallest: difference that these scenarios could show[/]"
    )
