"""Every rule of the linter twice: presets in which it finds something, and some where it must not.

A preset here is what stands below ``[guards]``; further tables can follow. Each has a limit that
is in nobody's way unless it sets one itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lint import RULES, lint
from harness.lint.measured import First
from tests.lint.fires import FIRES
from tests.lint.holds import HOLDS

#: Four scenarios' first iterations, with what a guard of each name measures there.
MEASURED = [
    First(
        "higher",
        {"token_budget": tokens, "quality": score, "tool_spin": 2.0, "max_iterations": 1.0}
        if score < 0.6
        else {"token_budget": tokens, "quality": score},
    )
    for tokens, score in ((100.0, 0.3), (200.0, 0.4), (300.0, 0.6), (9000.0, 0.9))
]


def written(folder: Path, text: str) -> str:
    """The path of a preset file; ``NAME:`` in front names it, ``observe:`` only observes."""
    head, _, body = text.partition(": ")
    named = head in ("observe", "balanced")
    name, body = (head, body) if named else ("mine", text)
    lines = ['schema = "harness/preset@1"']
    if name == "observe":
        name, lines = "mine", [*lines, "observe = true"]
    guards, table, rest = f"\n{body}".partition("\n[")
    lines += ["[guards]", guards.strip()]
    lines += [] if "max_" in guards else ["max_iterations = 50"]
    lines += [f"[{rest}"] if table else []
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def _cases(table):
    return [pytest.param(code, case, id=f"{code}: {name}")
            for code, cases in table.items() for name, case in cases.items()]  # fmt: skip


@pytest.mark.parametrize(("code", "case"), _cases(FIRES))
def test_it_finds(tmp_path, code, case):
    text, severity, key, words = case
    findings = lint(written(tmp_path, text), MEASURED)
    found = [one for one in findings if (one.code, one.key) == (code, key)]
    assert [severity] == [one.severity for one in found]
    assert words in found[0].message
    assert found[0].file is not None
    assert found[0].line is not None


@pytest.mark.parametrize(("code", "case"), _cases(HOLDS))
def test_it_stays_silent(tmp_path, code, case):
    found = [one for one in lint(written(tmp_path, case), MEASURED) if one.code == code]
    assert found == []


def test_every_rule_is_shown_both_ways():
    codes = [rule.code for rule in RULES]
    assert codes == list(FIRES) == list(HOLDS)


def test_every_severity_that_is_documented_is_shown():
    given = {(code, case[1]) for code, cases in FIRES.items() for case in cases.values()}
    told = {(rule.code, severity) for rule in RULES for severity in rule.severities}
    # Notes about what is merely inherited are shown in `test_inheritance`.
    assert told - given == {("dominated", "note"), ("unread-setting", "note")}
