"""What code alone can tell from an agent's own words, before any evaluator is asked.

Three classes: ``blocked``, ``awaiting_user``, ``infrastructure``. Every class that matches is
reported, the decision chain picks. Silent where a call of the same turn did not fail: who acts is
not stuck. Phrase lists are data (``phrases.toml``).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from harness.trace import Turn

CLASSES = ("blocked", "awaiting_user", "infrastructure")
#: What stops an agent stands in so many last sentences; before them it tells or thinks.
LAST_SENTENCES = 4
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]{3,}\"|“[^”\n]*”|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』|(?<!\w)'[^'\n]{8,}'(?!\w)"
)
_LINE = re.compile(
    r"^\s*(?:>|\||\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|(?:ERROR|WARN|INFO|FATAL)\b).*$", re.MULTILINE
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One class that a turn's words belong to, with the sentence that says so."""

    kind: str
    sentence: str


@dataclass(frozen=True, slots=True)
class _Lists:
    phrases: re.Pattern[str]
    excluded: re.Pattern[str]
    answered: re.Pattern[str] | None


@cache
def _lists() -> tuple[int, dict[str, _Lists], re.Pattern[str]]:
    data = tomllib.loads(files("harness.data").joinpath("phrases.toml").read_text("utf-8"))
    lists = {
        kind: _Lists(
            _joined(words["phrases"]),
            _joined(words["not"]),
            _joined(words["answered"]) if "answered" in words else None,
        )
        for kind in CLASSES
        if (words := data[kind])
    }
    return data["version"], lists, _joined(data["infrastructure"]["provider"])


def _joined(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns), re.IGNORECASE)


def phrases_version() -> int:
    """Version of the phrase lists; verdicts are kept under it."""
    return _lists()[0]


def own_words(text: str) -> list[str]:
    """The agent's own sentences: quotations, code, tables and log lines taken out."""
    text = _LINE.sub("\n", _FENCE.sub("\n", text))
    sentences = (part.strip() for part in _SENTENCE.split(_QUOTED.sub(" ", text)))
    return [sentence for sentence in sentences if sentence]


def triage(turn: Turn, *, outage_nearby: bool = False) -> tuple[Hit, ...]:
    """The classes that a turn belongs to, by its words and by the provider's error.

    Args:
        turn: What the iteration brought in.
        outage_nearby: A call failed for a passing reason in one of the two turns before.
    """
    if turn.reply.error:
        return (Hit("infrastructure", turn.reply.error),)
    outage = outage_nearby
    for call in turn.calls:
        if call.ok:
            return ()
        outage = outage or call.transient
    return _classify(turn.reply.text, bool(turn.calls), outage)


@lru_cache(maxsize=8192)
def _classify(text: str, has_calls: bool, outage: bool) -> tuple[Hit, ...]:
    _, lists, provider = _lists()
    sentences = own_words(text)
    hits: dict[str, Hit] = {}
    for number, sentence in enumerate(sentences):
        last = number >= len(sentences) - LAST_SENTENCES
        if number == 0 and provider.search(sentence):
            hits.setdefault("infrastructure", Hit("infrastructure", sentence))
        for kind, words in lists.items():
            waits = kind == "awaiting_user" and has_calls
            if waits or not last or (kind == "infrastructure" and not outage):
                continue
            after = sentences[number + 1] if number + 1 < len(sentences) else ""
            if after and words.answered and sentence[-1] in "?？" and words.answered.search(after):
                continue
            if words.phrases.search(sentence) and not words.excluded.search(sentence):
                hits.setdefault(kind, Hit(kind, sentence))
    return tuple(hits.values())
