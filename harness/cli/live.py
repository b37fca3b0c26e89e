"""What the command line says about live models, as objects of the library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from harness.cli import terminal
from harness.continuing import Continuation
from harness.continuing.tools import tools_from
from harness.errors import HarnessError
from harness.openai_llm import connect
from harness.spending import Allowance, pico, require_price
from harness.usercode import load_file


@dataclass(frozen=True, slots=True)
class Options:
    """Options of ``harness run`` that only say how to go on live."""

    model: str | None
    judge_model: str | None
    record: Path | None
    tools: Path | None
    budget_usd: str | None
    max_calls: int | None
    settings: tuple[str, ...]
    force: bool


@contextmanager
def continuation(
    options: Options, *, wanted: bool, max_live: int, resumed: bool = False
) -> Iterator[Continuation | None]:
    """What goes on live; ``None`` where nobody asked for it.

    Args:
        options: What the user wrote.
        wanted: Whether to go on live at all.
        max_live: Live iterations of one episode.
        resumed: The run goes on, and so does the file that it records to.

    Raises:
        HarnessError: Options that do not go together, or a file that cannot be used.
    """
    if not wanted:
        for field in fields(options):
            if getattr(options, field.name):
                name = {"settings": "setting"}.get(field.name, field.name).replace("_", "-")
                raise HarnessError(f"run: --{name}: only with --continue-live")
        yield None
        return
    if options.model is None:
        raise HarnessError("run: --continue-live: needs --model NAME")
    if options.record is None:
        raise HarnessError(
            "run: --continue-live: needs --record FILE.jsonl, which keeps what the model says"
        )
    if options.record.suffix != ".jsonl":
        raise HarnessError(f"run: --record: must end in .jsonl, found {str(options.record)!r}")
    if options.record.exists() and options.record.stat().st_size and not (resumed or options.force):
        raise HarnessError(
            f"run: --record: {options.record} holds something already; name another file, or "
            "--force replaces the same episodes in it"
        )
    models = [name for name in (options.model, options.judge_model) if name is not None]
    own = tools_from(load_file(options.tools, "run: --tools")) if options.tools else ()
    may = allowance(options.budget_usd, options.max_calls, models, "run")
    sent = settings(options.settings, "run")
    with connect() as client:
        yield Continuation(
            client,
            options.model,
            judge_model=options.judge_model,
            record_to=options.record,
            tools=own,
            allowance=may,
            most_live=max_live,
            settings=sent,
        )


def allowance(
    budget_usd: str | None, max_calls: int | None, models: Iterable[str], verb: str
) -> Allowance:
    """What live models may cost.

    Raises:
        HarnessError: No amount of money, or a model whose price is unknown.
    """
    budget = None
    if budget_usd is not None:
        budget = pico(budget_usd, f"{verb}: --budget-usd")
        for model in models:
            require_price(model, f"{verb}: --budget-usd")
    return Allowance(budget=budget, calls=max_calls)


def settings(given: Iterable[str], verb: str) -> dict[str, Any]:
    """``NAME=JSON`` as a setting; what is no JSON is a text.

    Raises:
        HarnessError: No name, or no value.
    """
    found = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise HarnessError(f"{verb}: --setting: must be NAME=JSON, found {item!r}")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def told(live: Continuation) -> None:
    """Say what going on live came to.

    Raises:
        HarnessError: No live call succeeded, or the allowance was used up and episodes are left
            undecided.
    """
    spent = live.allowance
    known = live.answered > spent.unpriced or not spent.made
    cost = terminal.dollars(spent.spent if known else None)
    lower = ">" if spent.unpriced and known else ""
    where = f" -> {terminal.plain(str(live.record_to))}" if live.continued else ""
    terminal.err().print(
        f"{live.continued} episodes went on live with {terminal.plain(live.model)}: "
        f"{spent.made} calls, {lower}{cost}{where}"
    )
    if spent.made and not live.answered:
        raise HarnessError(f"run: no live call succeeded: {live.failure}")
    if live.left:
        raise HarnessError(
            f"run: {spent.stopped}; {live.left} episodes are left as their recordings end"
        )
