"""Token counts of APIs as counts that do not overlap: the record's own total decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._usage import beside, usage_from

SPOT = Place(Path("x"), "usage")
REASONED = {"completion_tokens_details": {"reasoning_tokens": 94}}
CACHED = {"prompt_tokens_details": {"cached_tokens": 30}}
CASES: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("the format's rule", {"prompt_tokens": 32, "completion_tokens": 200, **REASONED},
     {"input": 32, "output": 106, "reasoning": 94}),
    ("and the total says so",
     {"prompt_tokens": 32, "completion_tokens": 200, "total_tokens": 232, **REASONED},
     {"input": 32, "output": 106, "reasoning": 94}),
    ("reasoning beside the completion",
     {"prompt_tokens": 32, "completion_tokens": 200, "total_tokens": 326, **REASONED},
     {"input": 32, "output": 200, "reasoning": 94}),
    ("camel case", {"promptTokens": 32, "completionTokens": 200, "totalTokens": 326, **REASONED},
     {"input": 32, "output": 200, "reasoning": 94}),
    ("cache beside the prompt",
     {"prompt_tokens": 32, "completion_tokens": 4, "total_tokens": 66, **CACHED},
     {"input": 32, "cache_read": 30, "output": 4}),
    ("more cached than prompt, and the total says so",
     {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 36, **CACHED},
     {"input": 2, "cache_read": 30, "output": 4}),
    ("both beside",
     {"prompt_tokens": 32, "completion_tokens": 4, "total_tokens": 160, **CACHED, **REASONED},
     {"input": 32, "cache_read": 30, "output": 4, "reasoning": 94}),
    ("cache within the input of Anthropic's names",
     {"input_tokens": 32, "output_tokens": 4, "cache_read_input_tokens": 30, "total_tokens": 36},
     {"input": 2, "cache_read": 30, "output": 4}),
    ("cache beside it, by the rule",
     {"input_tokens": 32, "output_tokens": 4, "cache_read_input_tokens": 30, "total_tokens": 66},
     {"input": 32, "cache_read": 30, "output": 4}),
    ("a total that is no such sum",
     {"prompt_tokens": 32, "completion_tokens": 200, "total_tokens": 999, **REASONED},
     {"input": 32, "output": 106, "reasoning": 94}),
    ("a total that is no number",
     {"prompt_tokens": 32, "completion_tokens": 200, "total_tokens": "326", **REASONED},
     {"input": 32, "output": 106, "reasoning": 94}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("usage", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_counts(usage: dict[str, Any], expected: dict[str, int]) -> None:
    assert usage_from(SPOT, usage) == expected


def test_more_cached_than_asked_is_refused_where_no_total_explains_it() -> None:
    for total in ({}, {"total_tokens": 6}, {"total_tokens": 999}):
        with pytest.raises(ImportFormatError, match="key 'prompt_tokens' must be at least"):
            usage_from(SPOT, {"prompt_tokens": 2, "completion_tokens": 4, **CACHED, **total})


@pytest.mark.parametrize("total", [None, True, 1.0, "1", -1, 0, 10**30])
def test_a_strange_total_leaves_the_rule(total: Any) -> None:
    assert beside(total, (5, 3, 4, 2), cached=False) == (False, False)
    assert beside(total, (5, 3, 4, 2), cached=True) == (True, False)
    assert beside(total, (5, 3, 4, 6), cached=False) == (False, True)
