"""Does a person's new message go on with the goal? Seven rules, in order.

The overlap of message and goal is a signal like any other; both thresholds are settings.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from harness.mechanisms import Continuity

Verdict = Literal["same", "new", "ambiguous"]
_LATIN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*", re.UNICODE)
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
#: A complete request has so many content tokens, or so many Chinese characters.
COMPLETE_TOKENS = 4
COMPLETE_HAN = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What was decided about a message, by which rule (1 to 7), and the overlap."""

    verdict: Verdict
    rule: int
    overlap: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Words:
    stop: frozenset[str]
    same: re.Pattern[str]
    new: re.Pattern[str]
    negation: re.Pattern[str]


@cache
def _words() -> _Words:
    data = tomllib.loads(files("harness.data").joinpath("continuity.toml").read_text("utf-8"))

    def joined(patterns: list[str]) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{p})" for p in patterns), re.IGNORECASE)

    return _Words(
        frozenset(data["stop_words"]["en"]) | frozenset(data["stop_words"]["zh"]),
        joined(data["markers"]["same"]),
        joined(data["markers"]["new"]),
        joined(data["markers"]["negation"]),
    )


@lru_cache(maxsize=4096)
def content_tokens(text: str) -> frozenset[str]:
    """Distinct content tokens: NFKC, case-folded, stop words dropped, Chinese as bigrams."""
    text = unicodedata.normalize("NFKC", text).casefold()
    stop = _words().stop
    tokens: set[str] = set()
    for run in _HAN.findall(text):
        kept = run
        for word in sorted((w for w in stop if _HAN.fullmatch(w)), key=len, reverse=True):
            kept = kept.replace(word, " ")
        for part in kept.split():
            pairs = [part[at : at + 2] for at in range(len(part) - 1)]
            tokens.update(pairs or [part])
    for word in _LATIN.findall(_HAN.sub(" ", text)):
        if word not in stop:
            tokens.add(word)
    return frozenset(tokens)


def overlap(message: str, goal: str) -> float:
    """Share of the message's distinct content tokens that occur in the goal; 0 without any."""
    tokens = content_tokens(message)
    return round(len(tokens & content_tokens(goal)) / len(tokens), 9) if tokens else 0.0


def is_complete(message: str) -> bool:
    """Whether a message could stand as a request by itself."""
    han = sum(len(run) for run in _HAN.findall(unicodedata.normalize("NFKC", message)))
    latin = sum(not _HAN.search(token) for token in content_tokens(message))
    return latin >= COMPLETE_TOKENS or han >= COMPLETE_HAN


def markers(message: str) -> tuple[bool, bool]:
    """Whether the message says "go on" and whether it says "something else", negations aside."""
    words = _words()
    text = unicodedata.normalize("NFKC", message)
    negated = [match.span() for match in words.negation.finditer(text)]

    def stands(pattern: re.Pattern[str]) -> bool:
        return any(
            not any(start < found.end() and found.start() < end for start, end in negated)
            for found in pattern.finditer(text)
        )

    return stands(words.same), stands(words.new)


def judge_continuity(
    message: str,
    goal: str,
    *,
    interrupted: bool,
    settings: Continuity,
    ask: Callable[[], str | None],
) -> Answer:
    """Decide whether a message goes on with the goal.

    Args:
        message: What the person said.
        goal: The goal worked on.
        interrupted: Whether the task had been cut off.
        settings: The two thresholds and the least confidence.
        ask: Asks the ``continuity`` role; its raw reply, or ``None`` where there is none.
    """
    share = overlap(message, goal)
    if not message.strip():
        return Answer("same", 1, share, "an empty message")
    same, new = markers(message)
    if same and not new:
        return Answer("same", 2, share, "it says to go on")
    if new and not same:
        return Answer("new", 3, share, "it says to do something else")
    if not interrupted:
        return Answer("same", 4, share, "the task was not interrupted")
    if share > settings.same_above:
        return Answer("same", 5, share, f"overlap {share:g} > {settings.same_above:g}")
    if share < settings.new_below and is_complete(message):
        return Answer("new", 6, share, f"overlap {share:g} < {settings.new_below:g}, complete")
    return _asked(ask(), share, settings)


def _asked(reply: str | None, share: float, settings: Continuity) -> Answer:
    if reply is None:
        return Answer("ambiguous", 7, share, "nobody could be asked")
    from harness.judge import ParseFailure, extract

    try:
        data = extract(reply)
    except ParseFailure as failure:
        return Answer("ambiguous", 7, share, f"the reply could not be read: {failure}")
    same, confidence = data.get("same_task"), data.get("confidence")
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not isinstance(same, bool) or not number or not 0 <= confidence <= 1:
        return Answer("ambiguous", 7, share, "the reply lacks same_task or confidence")
    if confidence < settings.min_confidence:
        return Answer("ambiguous", 7, share, f"confidence {confidence:g} is too low")
    return Answer("same" if same else "new", 7, share, f"asked, confidence {confidence:g}")


def request_text(message: str, goal: str) -> str:
    """What the ``continuity`` role is asked."""
    return (
        "Does the message go on with the goal? Answer with one JSON object: "
        '{"same_task": true or false, "confidence": 0 to 1}\n'
        + json.dumps({"goal": goal, "message": message}, ensure_ascii=False)
    )
