"""Whether a text of a recording and one of a request are the same, secrets aside.

Which secrets are known depends on the environment, which may be another one at a replay: what is a
placeholder here may be plain there, on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.redact import same
from harness.secretrules import PLACEHOLDER


class Alike:
    """Compares texts of a recording with texts of requests.

    Args:
        clean: Takes the secrets out of a text that are known by now.
    """

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean

    def told(self, text: str) -> str:
        """A text as it is compared and shown: without secrets."""
        return same(self._clean(text)).strip()

    def equal(self, recorded: str, asked: str) -> bool:
        """Whether two texts are the same.

        Args:
            recorded: From the recording.
            asked: From the request, with its secrets.
        """
        return bool(self.among([recorded], asked))

    def among(self, recorded: Sequence[str], asked: str) -> list[int]:
        """Where in a list the texts are that are the same as one; as they stand counts more.

        Args:
            recorded: From the recording.
            asked: From the request, with its secrets.
        """
        return self._exact(recorded, asked) or self._loose(recorded, asked)

    def odd(self, recorded: Iterable[str], asked: Iterable[str]) -> tuple[list[str], list[str]]:
        """What is left of two lists without the pairs that are the same, sorted.

        Args:
            recorded: From the recording.
            asked: From the request, with their secrets.
        """
        left, waiting = list(recorded), list(asked)
        for find in (self._exact, self._loose):
            odd = []
            for text in waiting:
                found = find(left, text)
                if found:
                    del left[found[0]]
                else:
                    odd.append(text)
            waiting = odd
        return sorted(map(self.told, left)), sorted(map(self.told, waiting))

    def _exact(self, recorded: Sequence[str], asked: str) -> list[int]:
        told = self.told(asked)
        return [number for number, text in enumerate(recorded) if same(text).strip() == told]

    def _loose(self, recorded: Sequence[str], asked: str) -> list[int]:
        """The same where a placeholder stands for any text; without one nothing is worth a look."""
        clean = self._clean(asked)
        known = PLACEHOLDER.search(clean) is not None
        # A request that says nothing but a secret is not the same as any text of a recording.
        tells = known and PLACEHOLDER.sub("", clean).strip() != ""
        return [
            number
            for number, text in enumerate(recorded)
            if (known or PLACEHOLDER.search(text))
            and (_stands(self._clean(text), asked) or (tells and _stands(clean, text)))
        ]


def _stands(pattern: str, text: str) -> bool:
    """Whether a text is another one where each placeholder of that stands for any text."""
    first, *parts = PLACEHOLDER.split(pattern.strip())
    text = text.strip()
    if not parts or not text:
        return pattern.strip() == text
    *between, last = parts
    at, end = len(first), len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last) and at <= end):
        return False
    for part in between:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
