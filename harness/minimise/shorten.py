"""Long texts made short, as far as the ending allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.minimise.ddmin import ddmin
from harness.minimise.ending import Trial
from harness.minimise.tree import changed, texts

#: Lengths that are tried, in characters; shorter texts stay as they are.
LENGTHS = (24, 100, 400)
#: Stands where something was cut off.
CUT = "…"
Cut = Callable[[str, int], str]


def shortened(data: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """The recording with its long texts shortened; equal texts stay equal, others different.

    First to their beginnings, then to their ends (where errors and last words stand), then line
    by line.

    Args:
        data: Ends as the trial wants.
        trial: Asked of every change.
    """
    for length in LENGTHS:
        for cut in (_head, _tail):
            data = _all_at_once(data, trial, length, cut)
    for text in dict.fromkeys(texts(data)):
        if len(text) > LENGTHS[1] and CUT not in (text[0], text[-1]):
            data = _by_lines(data, trial, text)
    return data


def _head(text: str, length: int) -> str:
    return text[: length - 1].rstrip() + CUT


def _tail(text: str, length: int) -> str:
    return CUT + text[1 - length :].lstrip()


def _all_at_once(data: dict[str, Any], trial: Trial, length: int, cut: Cut) -> dict[str, Any]:
    every = dict.fromkeys(texts(data))
    long = [text for text in every if len(text) > length]
    short = {text: cut(text, length) for text in long}
    taken = {text for text in every if text not in short}
    for text in long:
        # What differs has to go on differing, or a guard would see repetitions that were none.
        if short[text] in taken:
            short[text] = text
        taken.add(short[text])

    def with_whole(whole: Sequence[str]) -> dict[str, Any]:
        new = {text: made for text, made in short.items() if text not in set(whole)}
        made: dict[str, Any] = changed(data, lambda text: new.get(text, text))
        return made

    left = ddmin(long, lambda whole: trial(with_whole(whole)))
    return with_whole(left)


def _by_lines(data: dict[str, Any], trial: Trial, text: str) -> dict[str, Any]:
    others = set(texts(data))
    lines = text.splitlines(keepends=True)

    def of(left: Sequence[int]) -> dict[str, Any]:
        short = "".join(lines[at] for at in left)
        made: dict[str, Any] = changed(data, lambda found: short if found == text else found)
        return made

    def holds(left: Sequence[int]) -> bool:
        short = "".join(lines[at] for at in left)
        return short not in others and trial(of(left))

    return of(ddmin(range(len(lines)), holds))
