"""How often one passage recurs inside one reply: the sign of a decoding loop.

Code fences, tables, lists, headings, quotations and rules are regular by nature and do not
count; neither does padding.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_REGULAR_LINE = re.compile(r"^\s*(?:[|>#]|[-*+•]\s|\d+[.)]\s|[-=*_~\s]{3,}$|[^|\n]+\|[^|\n]+\|)")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")
_WORD = re.compile(r"\w", re.UNICODE)

#: A passage needs this many characters; shorter ones ("OK.") recur in healthy prose.
MIN_PASSAGE = 12
#: Only a reply that compresses this well is searched for loops without punctuation.
COMPRESSIBLE = 0.2
MAX_PERIOD = 60
#: A loop lasts to the end of a reply; the words before these would only cost time.
MAX_WORDS = 20_000


def repeats(text: str) -> int:
    """The largest number of times one passage of prose occurs in ``text``; 0 without prose."""
    if len(text) < 2 * MIN_PASSAGE:
        return 0
    prose = "\n".join(
        line for line in _FENCE.sub("\n", text).splitlines() if not _REGULAR_LINE.match(line)
    )
    passages = Counter(
        normal
        for part in _SENTENCE.split(prose)
        if len(normal := " ".join(part.split()).casefold()) >= MIN_PASSAGE and _WORD.search(normal)
    )
    most = max(passages.values(), default=0)
    raw = prose.encode("utf-8", "replace")
    if len(raw) > 200 and len(zlib.compress(raw, 1)) < COMPRESSIBLE * len(raw):
        most = max(most, _tandem(prose.casefold().split()[-MAX_WORDS:]))
    return most


def _tandem(words: list[str]) -> int:
    """Most laps of a run of words that repeats itself directly, for texts without full stops."""
    best = 0
    for period in range(1, min(MAX_PERIOD, len(words) // 2) + 1):
        matched = 0
        for earlier, later in zip(words, words[period:], strict=False):
            matched = matched + 1 if earlier == later else 0
            if matched >= period:
                best = max(best, matched // period + 1)
    return best
