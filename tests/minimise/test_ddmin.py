"""Delta debugging: what is left holds, and nothing of it can go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.minimise.ddmin import ddmin

# All items, what is needed of them, what is left.
NEEDS: dict[str, tuple[list[int], set[int], list[int]]] = {
    "nothing is there": ([], set(), []),
    "nothing is needed": ([1, 2, 3], set(), []),
    "one of one": ([1], {1}, [1]),
    "the last one": (list(range(20)), {19}, [19]),
    "the first and the last": (list(range(20)), {0, 19}, [0, 19]),
    "every second one": (list(range(9)), {1, 3, 5, 7}, [1, 3, 5, 7]),
    "all": ([3, 1, 2], {1, 2, 3}, [3, 1, 2]),
    "equal items": ([1, 1, 1, 2], {1, 2}, [1, 2]),
}


@pytest.mark.parametrize("case", NEEDS)
def test_what_is_needed_is_left(case: str) -> None:
    items, needed, expected = NEEDS[case]
    assert ddmin(items, lambda part: needed <= set(part)) == expected


@given(st.lists(st.integers(0, 30), max_size=30, unique=True), st.sets(st.integers(0, 30)))
def test_it_is_minimal_where_more_is_never_worse(items: list[int], needed: set[int]) -> None:
    needed &= set(items)
    assert ddmin(items, lambda part: needed <= set(part)) == [i for i in items if i in needed]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=14), st.integers(2, 7))
def test_no_single_item_can_go(items: list[int], modulus: int) -> None:
    """Also where a part may hold although a larger part does not."""
    rest = sum(items) % modulus

    def holds(part: Sequence[int]) -> bool:
        return sum(part) % modulus == rest

    left = ddmin(items, holds)
    assert holds(left)
    assert not any(holds(left[:at] + left[at + 1 :]) for at in range(len(left)))


def test_a_needle_costs_about_the_logarithm() -> None:
    asked: list[Sequence[int]] = []

    def holds(part: Sequence[int]) -> bool:
        asked.append(part)
        return 700 in part

    assert ddmin(range(1024), holds) == [700]
    assert len(asked) <= 25
