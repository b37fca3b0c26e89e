"""Recorded episodes as answers: each is found by position and played once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import takewhile
from pathlib import Path

from harness.conversation import Asked, Conversation
from harness.files import load
from harness.record.alike import Alike
from harness.record.framing import changed
from harness.scenario import Scenario, Step

#: So much of a text is shown or compared where two differ.
_SHOWN = 40
_COMPARED = 500


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a recorded episode; ``number`` counts from 1."""

    episode: Scenario
    number: int

    @property
    def step(self) -> Step:
        """What is recorded there."""
        return self.episode.steps[self.number - 1]


class Shelf:
    """The episodes of a recording, each taken by one conversation.

    A conversation takes a free episode that its header names, else a free one with its goal: the
    first of those whose first request is most like its own in what else it says (system prompt,
    tools, model, settings). Its n-th request gets the n-th step. Episodes that idle time put
    together are one after another what a program without shared histories asks: they are played in
    order.

    Args:
        path: The recording.
        clean: Takes secrets out of a text, as they were out of the recording.

    Raises:
        HarnessError: The recording cannot be read.
    """

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        self._path = path
        self._alike = Alike(clean)
        self._all = list(load([path]))
        in_order = [each for each in self._all if "grouped:idle" in each.tags]
        self._free = [each for each in self._all if "grouped:idle" not in each.tags]
        self._order = [Place(e, n) for e in in_order for n in range(1, len(e.steps) + 1)]
        self._taken: dict[Conversation, Scenario | None] = {}
        self._places: dict[Asked, Place] = {}

    @property
    def models(self) -> list[str]:
        """The models that the recording names, each once."""
        steps = (step for each in self._all for step in each.steps)
        return list(dict.fromkeys(step.reply.model for step in steps if step.reply.model))

    def place(self, asked: Asked, hashed: str) -> Place | None:
        """The recorded step that answers a request; the same again for its retries.

        Args:
            asked: The request.
            hashed: What else it says (``harness.record.framing``).
        """
        if asked not in self._places:
            found = self._find(asked.conversation, hashed)
            if found is None:
                return None
            self._places[asked] = found
        return self._places[asked]

    def taken(self, conversation: Conversation) -> Scenario | None:
        """The episode that a conversation plays."""
        return self._taken.get(conversation)

    def _find(self, found: Conversation, hashed: str) -> Place | None:
        if found not in self._taken:
            self._taken[found] = self._take(found, hashed)
        episode, number = self._taken[found], len(found.steps) + 1
        if episode is not None and number <= len(episode.steps):
            return Place(episode, number)
        return self._order.pop(0) if self._order else None

    def _take(self, found: Conversation, hashed: str) -> Scenario | None:
        if found.title is not None:
            fit = self._named(self._free, found.title)
        else:
            goals = [each.goal for each in self._free]
            fit = [self._free[at] for at in self._alike.among(goals, found.goal)]
        if not fit:
            return None
        # Agents with one task tell themselves apart by what else they say. Of equals the first.
        best = min(fit, key=lambda each: len(changed(_first_hash(each), hashed)))
        self._free = [each for each in self._free if each is not best]
        return best

    def _named(self, episodes: Sequence[Scenario], title: str) -> list[Scenario]:
        """Those with a title, or with an id."""
        names = [name for each in episodes for name in (each.title, each.id)]
        found = dict.fromkeys(at // 2 for at in self._alike.among(names, title))
        return [episodes[at] for at in found]

    def drift(self, asked: Asked, place: Place, hashed: str) -> str | None:
        """How a request differs from the recorded one, in words; ``None`` where it does not.

        Args:
            asked: The request.
            place: What answers it.
            hashed: What else it says (``harness.record.framing``).
        """
        before = place.episode.steps[place.number - 2].calls if place.number > 1 else []
        results = [call.result for call in before if call.result is not None]
        where = f"{place.episode.id}: request {place.number}"
        odd, brought = self._alike.odd(results, asked.results)
        if odd and brought:
            return f"{where}: a tool's result differs {_difference(odd[0], brought[0])}"
        if len(results) != len(asked.results):
            return f"{where}: brings {len(asked.results)} results, recorded are {len(results)}"
        old, new = place.step.user or place.step.nudge or "", asked.user or ""
        if not asked.conversation.steps and not asked.user:
            # What begins a conversation is its goal, wherever it stands in the recording.
            old, new = old.strip() or place.episode.goal, asked.conversation.goal
        if not self._alike.equal(old, new):
            told = _difference(self._alike.told(old), self._alike.told(new))
            return f"{where}: what was said differs {told}"
        other = changed(place.step.reply.request_hash, hashed)
        return f"{where}: other than recorded: {', '.join(other)}" if other else None

    def miss(self, found: Conversation) -> str:
        """Why a request has no answer: the nearest recording, and the difference."""
        episode, asked = self._taken.get(found), len(found.steps) + 1
        if episode is not None:
            return (
                f"recording {self._path}: {episode.id} has {len(episode.steps)} replies, and this "
                f"is request {asked}"
            )
        if found.title is not None:
            names = [each.title or each.id for each in self._all]
            what = f"episode {self._alike.told(found.title)!r}"
            return self._nearest(what, found.title, names)
        goals = [each.goal for each in self._all]
        return self._nearest("an episode with this goal", found.goal, goals)

    def _nearest(self, what: str, asked: str, recorded: list[str]) -> str:
        where = f"recording {self._path}:"
        same = len(self._alike.among(recorded, asked))
        if same:
            return f"{where} holds {what} {same} times, and all are played"
        wanted, names = self._alike.told(asked), [self._alike.told(each) for each in recorded]
        short = {name[:_COMPARED]: number for number, name in reversed(list(enumerate(names)))}
        near = get_close_matches(wanted[:_COMPARED], short, n=1, cutoff=0)
        if not near:
            return f"{where} holds no reply that is still to be played"
        number = short[near[0]]
        told = _difference(names[number], wanted)
        return (
            f"{where} does not hold {what}; nearest is {self._all[number].id}, which differs {told}"
        )


def _first_hash(episode: Scenario) -> str | None:
    return episode.steps[0].reply.request_hash if episode.steps else None


def _difference(recorded: str, asked: str) -> str:
    """Where two texts differ first, in words."""
    at = sum(1 for _ in _equal(recorded, asked))
    return (
        f"from character {at + 1} on: recorded {_shown(recorded, at)}, asked {_shown(asked, at)} "
        f"({SequenceMatcher(None, recorded[:_COMPARED], asked[:_COMPARED]).ratio():.0%} alike)"
    )


def _equal(one: str, other: str) -> Iterator[object]:
    return takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))


def _shown(text: str, at: int) -> str:
    begin = max(0, at - _SHOWN // 2)
    cut = text[begin : begin + _SHOWN]
    before, behind = "…" if begin else "", "…" if begin + _SHOWN < len(text) else ""
    return repr(f"{before}{cut}{behind}")
