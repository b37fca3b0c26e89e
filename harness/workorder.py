"""The work order: plain text ahead of the actor's input, made by code from what is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.lessons import Entry

RULES = (
    "Do not claim that the whole task is done while a phase is open.",
    "Do not skip checks.",
    "Return concrete evidence: output, files, test results.",
)


@dataclass(slots=True)
class Orders:
    """What the next work order is made of; mechanisms add to it.

    Attributes:
        message: What a person said.
        tried: Summaries of feedback and plans so far, oldest first.
        movements: What the verifier wants next; ``evidence`` what it has.
        sections: Perception, reflection and nudges, ready to print.
    """

    message: str | None = None
    tried: list[str] = field(default_factory=list)
    movements: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)


def work_order(
    orders: Orders,
    *,
    iteration: int,
    limit: int | None,
    goal: str,
    phase: str | None,
    open_checks: Sequence[str],
    lessons: Iterable[Entry],
) -> str:
    """The text, the same for the same state.

    Args:
        orders: What mechanisms and people added.
        iteration: The iteration that it is for, from 1.
        limit: The preset's iteration limit, if it has one.
        goal: The task's goal.
        phase: The phase that is being worked on.
        open_checks: Checks that do not hold yet, in words.
        lessons: The feedback log.
    """
    of = f" of {limit}" if limit is not None else ""
    parts = [f"Work order: iteration {iteration}{of}", f"Goal: {goal}"]
    if phase is not None:
        parts.append(f"Phase: {phase} (locked until its checks hold)")
    parts += _listed("Checks still open", open_checks)
    parts += _listed("These did not work; take another approach", _short(orders.tried))
    learned = [
        "; ".join(
            text for text in (e.lesson.mistake, e.lesson.avoid, e.lesson.next_strategy) if text
        )
        for e in lessons
    ]
    parts += _listed("Lessons so far", learned)
    if orders.message:
        parts.append(f"Message from the person: {orders.message}")
    parts += _listed("Next movements", orders.movements)
    parts += _listed("Evidence so far", orders.evidence)
    parts += orders.sections
    parts += _listed("Rules", RULES)
    return "\n".join(parts)


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    items = [f"- {line}" for line in lines]
    return [f"{title}:", *items] if items else []


def _short(texts: Iterable[str], most: int = 160) -> list[str]:
    """First line of each, cut, each once, the last ten."""
    seen: dict[str, None] = {}
    for text in texts:
        line = " ".join(text.split())
        seen.pop(line, None)
        seen[line if len(line) <= most else line[: most - 1] + "…"] = None
    return list(seen)[-10:]
