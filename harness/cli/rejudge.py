"""The verb ``rejudge``: what was judged, what it cost, and what it is worth."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.cli.live import allowance, settings
from harness.errors import HarnessError, Interrupted
from harness.openai_llm import connect
from harness.rejudge import FunctionJudge, ModelJudge, Result, rejudge
from harness.rejudge.figures import Figures
from harness.rejudge.models import Estimate
from harness.rejudge.output import Output
from harness.rejudge.spots import Choice
from harness.rejudge.work import planned
from harness.usercode import load_function

GO_ON = "go on with the same command and --resume"
#: So many failures of a function are told one by one.
_TOLD = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """Who judges, at what cost, and what is done with a file that is there."""

    model: str | None
    function: str | None
    budget_usd: str | None
    max_calls: int | None
    settings: tuple[str, ...]
    parallel: int
    resume: bool
    force: bool


def run(paths: list[str], output: Path, asked: Asked, choice: Choice, *, as_json: bool) -> int:
    """Judge, show; the exit code."""
    _check(output, asked, choice)
    with _judge(asked, live=True) as judge:
        return _run(paths, output, asked, choice, judge, as_json=as_json)


def _run(
    paths: list[str],
    output: Path,
    asked: Asked,
    choice: Choice,
    judge: ModelJudge | FunctionJudge,
    *,
    as_json: bool,
) -> int:
    bar = terminal.ProgressBar("judging")
    try:
        # What a function prints is none of the result.
        with redirect_stdout(sys.stderr):
            result = rejudge(
                paths, output, judge, choice=choice, parallel=asked.parallel,
                resume=asked.resume, force=asked.force, on_progress=bar.update,
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Interrupted(f"rejudge: interrupted; {GO_ON}") from None
    finally:
        bar.close()
    made = judge.allowance.made if isinstance(judge, ModelJudge) else None
    if as_json:
        terminal.json_line(_record(result, output, made))
    else:
        _print(result, made)
    for error in result.errors[:_TOLD]:
        terminal.err().print(terminal.plain(f"harness: {error}"))
    if len(result.errors) > _TOLD:
        terminal.err().print(f"harness: ... and {len(result.errors) - _TOLD:,} more")
    if not result.complete:
        stopped = judge.allowance.stopped if isinstance(judge, ModelJudge) else None
        cause = result.unreachable or f"rejudge: {stopped}"
        raise HarnessError(
            f"{cause}; {result.total - result.done} of {result.total} iterations are left: {GO_ON}"
        )
    found = result.figures
    nothing = found.judged == found.unreadable + found.failed
    if not as_json:
        name = terminal.plain(str(output))
        console = terminal.err()
        console.print(f"\nwritten: {name}")
        if result.errors:
            console.print(
                f"{terminal.counted(len(result.errors), 'iteration')} failed and stayed unknown; "
                "the same command with --resume judges them again"
            )
        if not nothing:
            console.print(
                f"next: harness run {name} -p balanced -p reflection · "
                f"harness run {name} -p observe --run judged · harness tune judged"
            )
    if result.total and nothing and not result.errors:
        raise HarnessError(
            f"rejudge: none of {result.total:,} iterations got a verdict: {found.unreadable:,} "
            f"cannot be parsed, {found.failed:,} refused by the server, {found.unknown:,} unknown"
        )
    return 1 if result.errors else 0


def estimate(
    paths: list[str], output: Path, asked: Asked, choice: Choice, *, as_json: bool
) -> None:
    """Say what judging would take; nobody is asked and nothing is written."""
    _check(output, asked, choice)
    with _judge(asked, live=False) as judge:
        _estimate(paths, output, asked, choice, judge, as_json=as_json)


def _estimate(
    paths: list[str],
    output: Path,
    asked: Asked,
    choice: Choice,
    judge: ModelJudge | FunctionJudge,
    *,
    as_json: bool,
) -> None:
    there = Output(output, judge.about, resume=True) if asked.resume else None
    recordings = calls = tokens = most = 0
    low: int | None = 0
    high: int | None = 0
    for _, spots in planned(paths, judge, choice, there):
        recordings += 1
        calls += len(spots)
        if isinstance(judge, ModelJudge):
            found: Estimate = judge.estimate(spots)
            tokens, most = tokens + found.tokens, most + found.most_output
            low, high = _add(low, found.low), _add(high, found.high)
    priced = isinstance(judge, ModelJudge)
    if as_json:
        terminal.json_line({
            "type": "estimate", "recordings": recordings, "iterations": calls,
            "calls": calls if priced else 0, "input_tokens": tokens if priced else None,
            "most_output_tokens": most if priced else None,
            "cost_low_pico_usd": low if priced else None,
            "cost_high_pico_usd": high if priced else None,
        })  # fmt: skip
        return
    console = terminal.out()
    console.print(
        f"{terminal.counted(recordings, 'recording')}, "
        f"{terminal.counted(calls, 'iteration')} to judge"
    )
    if priced:
        console.print(f"input: about {tokens:,} tokens, counted as 4 characters each")
        console.print(f"output: at most {most:,} tokens")
        price = f"{terminal.dollars(low)} (no output) to {terminal.dollars(high)} (all of it)"
        unknown = "unknown: the price list does not have this model; see HARNESS_PRICES"
        console.print(f"cost: {unknown if low is None else price}")


def _add(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total + part


def _check(output: Path, asked: Asked, choice: Choice) -> None:
    if (asked.model is None) == (asked.function is None):
        raise HarnessError("rejudge: needs either --model NAME or --function module:name")
    if asked.function is not None:
        for name in ("budget_usd", "max_calls", "settings"):
            if getattr(asked, name):
                option = name.removesuffix("s") if name == "settings" else name
                raise HarnessError(f"rejudge: --{option.replace('_', '-')}: only with --model")
    if asked.resume and asked.force:
        raise HarnessError("rejudge: --resume goes on with a file, --force writes over it")
    if choice.last and choice.every != 1:
        raise HarnessError("rejudge: --last and --every exclude each other")
    if output.suffix != ".jsonl":
        raise HarnessError(f"rejudge: --output: must end in .jsonl, found {str(output)!r}")
    if not output.parent.is_dir():
        raise HarnessError(f"rejudge: --output: folder {output.parent} does not exist")
    if output.is_dir():
        raise HarnessError(f"rejudge: --output: {output} is a folder; name a file")


@contextmanager
def _judge(asked: Asked, *, live: bool) -> Iterator[ModelJudge | FunctionJudge]:
    if asked.function is not None:
        with redirect_stdout(sys.stderr):
            function = load_function(asked.function, "rejudge: --function")
        yield FunctionJudge(function, asked.function)
        return
    model = asked.model or ""
    may = allowance(asked.budget_usd, asked.max_calls, [model], "rejudge")
    sent = settings(asked.settings, "rejudge")
    with connect() if live else nullcontext() as client:
        yield ModelJudge(client, model, allowance=may, settings=sent)


def _print(result: Result, made: int | None) -> None:
    found = result.figures
    known = found.judged > found.unpriced
    cost = "none" if made is None else terminal.dollars(found.cost if known else None)
    rows = [
        ("recordings", terminal.count(found.recordings)),
        ("finished before", terminal.count(result.kept)),
        ("iterations judged", terminal.count(found.judged)),
        ("cannot be parsed", terminal.count(found.unreadable)),
        ("refused by the server", terminal.count(found.failed)),
        ("left unknown", terminal.count(found.unknown)),
        ("calls now", "none" if made is None else terminal.count(made)),
        ("cost of all", f">{cost}" if found.unpriced and known else cost),
    ]
    console = terminal.out()
    console.print(terminal.table([("judged", "left"), ("", "right")], rows))
    if found.sides:
        console.print()
        console.print(_sides(found))
    if found.agreement is not None:
        right, of = found.agreement
        console.print(f"called done where it succeeded, and not where it failed: {right} of {of}")


def _sides(found: Figures) -> Any:
    columns: list[tuple[str, terminal.Justify]] = [
        ("recorded outcome", "left"), ("recordings", "right"), ("mean last score", "right"),
        ("called done", "right"),
    ]  # fmt: skip
    return terminal.table(
        columns,
        (
            [terminal.plain(name, most=30), terminal.count(side.recordings),
             terminal.number(side.mean), f"{side.done} of {side.asked}"]
            for name, side in sorted(found.sides.items())
        ),
    )  # fmt: skip


def _record(result: Result, output: Path, made: int | None) -> dict[str, Any]:
    found = result.figures
    sides = {name: {**asdict(side), "mean": side.mean} for name, side in found.sides.items()}
    return {
        "type": "rejudged", "output": str(output), "complete": result.complete,
        "iterations": result.total, "settled": result.done, "kept": result.kept,
        "recordings": found.recordings, "judged": found.judged, "unparsed": found.unreadable,
        "failed": found.failed, "unknown": found.unknown, "calls": made,
        "cost_pico_usd": found.cost, "unpriced": found.unpriced, "by_outcome": sides,
        "agreement": found.agreement, "errors": result.errors,
    }  # fmt: skip
