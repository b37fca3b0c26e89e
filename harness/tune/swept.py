"""What a sweep works through: batches of presets, in pieces of episodes, as keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness.decide import rank
from harness.exits import ExitReason
from harness.guards import Guard
from harness.tune.corpus import RANK_STEP, Corpus
from harness.tune.firing import (
    Column,
    Keys,
    Levels,
    Part,
    firing_keys,
    key_type,
    levels,
    parts,
    shift_for,
)
from harness.tune.readings import Flags, Floats, Ints
from harness.tune.shapes import Label, Order, Shape, label, pauses

_Reason = tuple[ExitReason, str]


@dataclass(frozen=True)
class Codes:
    """Places in the decision chain, as small numbers from 1.

    Attributes:
        guards: By guard.
        mechanisms: By place and exit reason.
        reasons: What each stands for; the first is code 1.
        vetoed: By code, whether it is a guard's success, which an open check outranks.
        late: By code, whether it is a guard that comes behind a phase that is done.
    """

    guards: dict[Label, int]
    mechanisms: dict[tuple[float, ExitReason], int]
    reasons: tuple[_Reason, ...]
    vetoed: Flags
    late: Flags


@dataclass(frozen=True)
class _Group:
    """Episodes with equal limits, and a batch's guards under these limits.

    Attributes:
        columns: Guards that end something here.
        unknown: By preset, whether readings are missing here.
        pausing: By preset and code, whether that guard waits for a person.
    """

    members: Ints
    columns: tuple[Column, ...]
    unknown: Flags
    pausing: Flags


@dataclass(frozen=True)
class Piece:
    """All presets of a batch over one part of the episodes."""

    corpus: Corpus
    part: Part
    group: _Group
    columns: list[tuple[Column, Levels]]
    fixed: Ints
    shift: int
    observing: Flags
    codes: Codes

    @property
    def episodes(self) -> Ints:
        """Which episodes."""
        return self.part.episodes

    def blocks(self) -> Iterator[tuple[slice, Keys]]:
        """Keys by block of presets; the array is used again for the next one."""
        count = len(self.observing)
        keys = firing_keys(self.corpus, self.part, self.columns, count, self.fixed, self.shift)
        some = self.observing.any()
        for rows, block in keys:
            if some:
                block[self.observing[rows]] = self.part.width << self.shift
            yield rows, block

    @cached_property
    def _odd(self) -> tuple[Flags, Ints, bool]:
        """Episodes with phases; where acting forks off (0: nowhere); whether pauses matter."""
        corpus, episodes = self.corpus, self.episodes
        answered = bool(corpus.answered[episodes].any() and self.group.pausing.any())
        return corpus.phased[episodes], corpus.fork[episodes], answered

    def swept(self, rows: slice, block: Keys) -> Flags | None:
        """Which cells of a block are known from what was observed; ``None`` where all are."""
        corpus = self.corpus
        phased, fork, answered = self._odd
        unknown = self.group.unknown[rows]
        if not (answered or unknown.any() or phased.any() or fork.any()):
            return None
        known: Flags = np.repeat(~unknown[:, None], len(phased), axis=1)
        lengths = corpus.lengths[self.episodes]
        at = (block >> self.shift).astype(np.int64)
        ended = at < lengths
        at = np.minimum(at, lengths - 1)
        known &= ~((fork > 0) & (at + 1 >= fork))
        code = (block & ((1 << self.shift) - 1)).astype(np.int64)
        here = corpus.offsets[self.episodes] + at
        if answered:
            pause = np.take_along_axis(self.group.pausing[rows], code, axis=1)
            known &= ~(ended & corpus.answers[here] & pause)
        if corpus.advances is None:
            known &= ~phased
        elif phased.any():
            # An open check may veto a success; a phase that is done comes before the later paths.
            open_ = self.codes.vetoed[code] | (self.codes.late[code] & corpus.advances[here])
            known &= ~(phased & ended & open_)
        # A preset that only observes ends nothing, so it has nothing to be answered.
        known[self.observing[rows]] = True
        return known


@dataclass(frozen=True)
class Batch:
    """Presets whose guards agree in their order.

    Attributes:
        rows: Numbers of the presets.
        reasons: What ends a loop: entry ``code - 1`` of a key's code; code 0 is nothing.
        shift: Bits of a key's code.
        key_type: Integers that hold every key.
        pieces: All episodes, each once.
    """

    rows: Ints
    reasons: tuple[_Reason, ...]
    shift: int
    key_type: Any
    pieces: tuple[Piece, ...]


def batches(corpus: Corpus, shapes: list[Shape]) -> list[Batch]:
    """All presets over all episodes, ready to be worked through."""
    orders: list[tuple[Order, list[Shape]]] = []
    for shape in shapes:
        for order, members in orders:
            if order.takes(_sequences(corpus, shape)):
                members.append(shape)
                break
        else:
            order = Order()
            order.takes(_sequences(corpus, shape))
            orders.append((order, [shape]))
    return [_batch(corpus, order, members) for order, members in orders]


def _sequences(corpus: Corpus, shape: Shape) -> Iterator[list[tuple[Label, Guard]]]:
    """A shape's ending guards in order, under the limits of each task."""
    for limits, _ in corpus.by_limits:
        guards, ending = shape.under(limits)
        yield [(label(name, guards[name]), guards[name]) for name in ending]


def _codes(corpus: Corpus, order: Order, guards: dict[Label, Guard]) -> Codes:
    found: list[tuple[tuple[float, int, str], Any, _Reason]] = []
    for place, reason in sorted(corpus.endings):
        found.append(((place, 0, reason.value), (place, reason), (reason, "")))
    for position, key in enumerate(order, 1):
        guard = guards[key]
        path, place = rank(guard.kind(), guard.exit_reason)
        row = (path * RANK_STEP + place, position, "")
        found.append((row, key, (guard.exit_reason, key[0])))
    found.sort(key=lambda one: one[0])
    by_key = {key: code for code, (_, key, _) in enumerate(found, 1)}
    mechanisms = {key: by_key[key] for key in corpus.endings}
    own = {key: by_key[key] for key in guards}
    vetoed, late = (np.zeros(len(found) + 1, dtype=bool) for _ in range(2))
    for key, code in own.items():
        reason = guards[key].exit_reason
        vetoed[code] = reason.group == "success"
        late[code] = rank(guards[key].kind(), reason) > rank("phase_done")
    return Codes(own, mechanisms, tuple(reason for _, _, reason in found), vetoed, late)


def _batch(corpus: Corpus, order: Order, shapes: list[Shape]) -> Batch:
    rows = np.concatenate([shape.rows for shape in shapes])
    guards = {key: guard for s in shapes for seq in _sequences(corpus, s) for key, guard in seq}
    codes = _codes(corpus, order, guards)
    shift = shift_for(len(codes.reasons))
    observing = np.repeat([s.observe for s in shapes], [len(s.rows) for s in shapes])
    code = np.array(
        [
            0 if reason is None else codes.mechanisms[float(place), reason]
            for place, reason in zip(corpus.fixed_rank, corpus.fixed_reason, strict=True)
        ],
        dtype=np.int64,
    )
    pieces = []
    for at, (_, members) in enumerate(corpus.by_limits):
        group = _group(corpus, at, members, shapes, codes)
        leveled: dict[bool, list[tuple[Column, Levels]]] = {}
        for part in parts(corpus, len(rows), members):
            if part.lower not in leveled:
                leveled[part.lower] = [(c, levels(c, lower=part.lower)) for c in group.columns]
            here = code[part.episodes]
            ends = ((corpus.fixed_at[part.episodes] - 1) << shift) + here
            fixed = np.where(here > 0, ends, part.width << shift)
            pieces.append(
                Piece(corpus, part, group, leveled[part.lower], fixed, shift, observing, codes)
            )
    width = int(corpus.lengths.max(initial=1))
    return Batch(rows, codes.reasons, shift, key_type(width, shift), tuple(pieces))


def _group(corpus: Corpus, at: int, members: Ints, shapes: list[Shape], codes: Codes) -> _Group:
    """A batch's guards under one set of limits."""
    limits = corpus.by_limits[at][0]
    count = sum(len(shape.rows) for shape in shapes)
    thresholds: dict[Label, Floats] = {}
    guards: dict[Label, Guard] = {}
    unknown = np.zeros(count, dtype=bool)
    pausing = np.zeros((count, len(codes.reasons) + 1), dtype=bool)
    begin = 0
    for shape in shapes:
        rows = slice(begin, begin + len(shape.rows))
        begin = rows.stop
        unknown[rows] = not shape.passive
        applied, ending = shape.under(limits)
        for name, column in ending.items():
            key = label(name, applied[name])
            signals = corpus.signals.get(key[1])
            if signals is None or not signals.measured[members].all():
                unknown[rows] = True
                continue
            guards.setdefault(key, applied[name])
            wanted = thresholds.setdefault(key, np.full(count, np.nan))
            wanted[rows] = column
            pausing[rows, codes.guards[key]] = pauses(name, applied[name])
    columns = tuple(
        Column(guard, corpus.signals[key[1]].values, codes.guards[key], thresholds[key])
        for key, guard in guards.items()
    )
    return _Group(members, columns, unknown, pausing)
