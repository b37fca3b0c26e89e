"""What a rule says of the texts it can match is true, so that looking there only finds the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.secretrules import Rule, bundled

RULES = [rule for rule in bundled()[0] if rule.needs or rule.starts]


@pytest.mark.parametrize("rule", RULES, ids=[f"{r.name}-{n}" for n, r in enumerate(RULES)])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), around=st.sampled_from(["", " ", "x", "keyé ", "İ", "api_"]))
def test_every_match_is_found_where_the_rule_says(
    rule: Rule, data: st.DataObject, around: str
) -> None:
    text = around + data.draw(st.from_regex(rule.pattern)) + around
    bare = replace(rule, needs=(), starts=None)
    expected = [match.span() for match in bare.matches(text, text.casefold())]
    assert [match.span() for match in rule.matches(text, text.casefold())] == expected
    if expected:
        assert rule.within(text, text.casefold())
