"""What is odd about imported recordings, before anybody draws conclusions from them.

Known are the recordings, and order, moments and ids in the source's own records. What a request
held is not, so that "exported twice" means: the same goal, replies, calls and results in two
recordings, or one id twice in a list. Equal steps in a row are no duplicates: loops do that. Costs
are worked out from tokens, so that their unit cannot change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.importers import _lint_rules as rules
from harness.importers._lint_rules import Brief, Subject, brief

#: Recordings named in a finding.
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be odd.

    Attributes:
        code: Its name.
        words: What is odd, in short.
        fix: What to do about it.
        each: Looks at one recording, or
        among: looks at all of them.
    """

    code: str
    words: str
    fix: str
    each: Callable[[Subject], str | None] | None = None
    among: Callable[[Sequence[Brief]], list[str]] | None = None

    @property
    def about(self) -> str:
        """What it looks for, as its documentation says."""
        return (getattr(self.each or self.among, "__doc__", None) or "").strip()


RULES: tuple[Rule, ...] = (
    Rule("no-content", "nothing of what was said and done was captured; guards cannot compare it",
         "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only for the agent, or what "
         "its instrumentation has for it, and record again", rules.no_content),
    Rule("no-usage", "no reply tells its tokens",
         "let the source record usage, or leave token and cost budgets out of the comparison",
         rules.no_usage),
    Rule("usage-in-part", "only some replies tell their tokens; sums are lower bounds",
         "read their figures of tokens and cost as 'at least'", rules.usage_in_part),
    Rule("zero-usage", "a reply has a text and 0 output tokens",
         "leave usage out of the source where it is unknown; 0 is a measurement",
         rules.zero_usage),
    Rule("low-usage", "a reply has fewer output tokens than its text can have",
         "take sums of output and cost as 'at least': the source wrote them before the reply ended",
         rules.low_usage),
    Rule("huge-usage", "a reply has an implausible number of tokens",
         "look whether the source writes totals, characters or times there", rules.huge_usage),
    Rule("time-backwards", "messages are not in the order of their times",
         "look at the source's clock and order; waits may be wrong", rules.time_backwards),
    Rule("repeated-record", "one id comes twice in a list of the source",
         "export it once; a repeated message counts as another iteration", rules.repeated_record),
    Rule("crash-scored", "a step that failed has the score 0",
         "leave the score out where nothing was measured; 0 looks like a setback",
         rules.crash_scored),
    Rule("empty-goal", "there is no goal",
         "add the task; judges, verification and goal_overlap need it", rules.empty_goal),
    Rule("empty-step", "a step holds nothing",
         "look whether the source's export leaves out content", rules.empty_step),
    Rule("duplicate", "the same as a recording before it",
         "import each export once; runs that came out equal twice count twice in every figure",
         among=rules.duplicate),
    Rule("time-unit", "replies take 1,000 times as long as elsewhere, or a 1,000th",
         "look whether some are in seconds and others in milliseconds", among=rules.time_unit),
    Rule("score-scale", "scores are on another scale than elsewhere",
         "bring all to one scale, and declare it as score_scale", among=rules.score_scale),
    Rule("secrets", "secrets were taken out",
         "revoke keys that are real: the source still holds them", rules.secrets),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that found something.

    Attributes:
        code: Of the rule.
        words: What is odd.
        recordings: In how many.
        examples: Ids of the first ones, with the place where there is one.
        fix: What to do.
    """

    code: str
    words: str
    recordings: int
    examples: tuple[str, ...]
    fix: str

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "code": self.code,
            "words": self.words,
            "recordings": self.recordings,
            "examples": list(self.examples),
            "fix": self.fix,
        }


class Lint:
    """Looks at recordings one by one and remembers little of each."""

    def __init__(self) -> None:
        self._briefs: list[Brief] = []
        self._found: dict[str, list[str]] = {rule.code: [] for rule in RULES}
        self._counts: dict[str, int] = dict.fromkeys(self._found, 0)

    def add(self, subject: Subject) -> None:
        """Look at one recording."""
        for rule in RULES:
            if rule.each is not None and (where := rule.each(subject)) is not None:
                self._note(rule.code, f"{subject.recording['id']} {where}".rstrip())
        self._briefs.append(brief(subject))

    def findings(self) -> list[Finding]:
        """What was odd, in the order of the rules; asked for once, at the end."""
        for rule in RULES:
            for name in rule.among(self._briefs) if rule.among is not None else ():
                self._note(rule.code, name)
        return [
            Finding(rule.code, rule.words, count, tuple(self._found[rule.code]), rule.fix)
            for rule in RULES
            if (count := self._counts[rule.code])
        ]

    def _note(self, code: str, example: str) -> None:
        self._counts[code] += 1
        if len(self._found[code]) < EXAMPLES:
            self._found[code].append(example)
