"""Every rule is shown twice: a scenario in which it acts, and one in which it must stay silent.

``docs/rules.md`` is this table; ``python -m tests.test_rules`` writes it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from harness.episode import Episode
from harness.files import bundled_scenarios, load
from harness.guards.patience import Patience
from harness.guards.regression import Regression
from harness.loop import run_episode
from harness.preset import Preset, load_preset
from harness.turns import prepare
from tests.examples import preset

DOC = Path(__file__).parents[1] / "docs" / "rules.md"
#: Presets of guards that no bundled preset switches on.
EXTRA = {
    "patience 2": preset(patience=Patience(threshold=2)),
    "regression 0.1": preset(regression=Regression(threshold=0.1)),
}


@dataclass(frozen=True)
class Rule:
    """One rule: where it acts, where it must not, under which preset, and how that is seen.

    ``see`` is one of: ``exit REASON`` · ``fires GUARD`` · ``unknown GUARD`` ·
    ``condition KIND STATE`` · ``decision NAME`` · ``event MECHANISM EVENT [TRIGGER]`` ·
    ``asked ROLE`` · ``order TEXT`` · ``needs human``.
    """

    section: str
    name: str
    acts: str
    silent: str
    preset: str
    see: str


def _rules(table: str) -> list[Rule]:
    rules, section = [], ""
    for line in table.strip().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.strip():
            rules.append(Rule(section, *(part.strip() for part in line.split("|"))))
    return rules


RULES = _rules("""
## 3 Guards
max_rounds | budgets/max-rounds-zero | reflection/plateau | reflection | fires max_rounds
max_iterations | budgets/max-iterations | phases/done-too-early | engine | fires max_iterations
time_budget | budgets/time-budget | reflection/plateau | reflection | fires time_budget
token_budget | budgets/token-budget-exact | budgets/slow-model | observe | fires token_budget
cost_budget | budgets/cost-budget-priced | budgets/cost-unknown-model | observe | fires cost_budget
tool_budget | budgets/tool-budget-batch | budgets/token-budget-exact | observe | fires tool_budget
an unknown price is unknown | budgets/cost-unknown-model | budgets/cost-budget-priced | engine | unknown cost_budget
quality | reflection/improving-to-quality | reflection/plateau | reflection | exit quality_reached
quality, lower is better | reflection/lower-is-better | reflection/falling-score | reflection | exit quality_reached
passed of total is a score | reflection/passed-of-total | reflection/unscored-rounds | reflection | exit quality_reached
a rubric is mapped | reflection/rubric-one-to-ten | reflection/plateau | reflection | exit quality_reached
stagnation, rounded differences | reflection/plateau | reflection/float-edge | reflection | fires stagnation
patience | reflection/falling-score | reflection/improving-to-quality | patience 2 | fires patience
regression | reflection/regression-after-good | reflection/plateau | regression 0.1 | fires regression
oscillation | repetition/two-versions-take-turns | repetition/regular-by-nature | observe | fires oscillation
repetition | repetition/feedback-word-for-word | repetition/same-question-new-answers | reflection | fires repetition
spin, ids removed and counters kept | spin/only-pid-and-time-differ | spin/moving-counter | balanced | fires spin
spin, talk does not break it | spin/talk-between-equal-calls | spin/same-tool-other-arguments | balanced | fires spin
waiting is not looping | spin/three-equal-calls | healthy/declared-waiting | balanced | fires spin
recurrence | repetition/same-question-again-and-again | repetition/same-question-new-answers | balanced | fires recurrence
cycle | spin/cycle-of-three | healthy/varied-tool-work | balanced | fires cycle
repeated_error, transient ones aside | spin/same-error-other-commands | triage/rate-limited-tool | balanced | fires repeated_error
monologue | spin/only-talk | healthy/fix-and-verify | balanced | fires monologue
text_loop | repetition/passage-inside-one-reply | repetition/regular-by-nature | balanced | fires text_loop
no_progress | spin/only-talk | healthy/varied-tool-work | engine | fires no_progress
parse_failures | judge/three-unparseable | judge/good-and-bad-alternate | engine | exit evaluator_unparseable
evaluator_errors | judge/five-unreachable | judge/good-and-bad-alternate | engine | exit infrastructure
transient_errors | triage/rate-limited-tool | healthy/retry-after-transient-error | engine | exit infrastructure
goal_overlap | continuity/user-says-forget-it | continuity/overlap-is-high | observe | fires goal_overlap

## 4 The loop
work order names open checks | together/article | judge/evidence-named | engine | order Checks still open
work order names what was tried | issues/feedback-empty | judge/evidence-named | engine | order These did not work
work order carries the message | continuity/overlap-is-high | judge/evidence-named | engine | order Message from the person
work order carries lessons | lessons/carried-on | lessons/not-worth-recording | engine | order Lessons so far
work order carries next movements | verification/handler-asks | judge/evidence-named | movements | order Fill line 14.
triage: blocked | triage/blocked-no-credentials | triage/quoted-log | engine | exit blocked
triage: blocked, Chinese | triage/blocked-zh | triage/question-then-action | engine | exit blocked
triage: awaiting_user | triage/awaiting-user | triage/question-then-action | engine | exit awaiting_user
triage: infrastructure | triage/provider-error | triage/quoted-log | engine | exit infrastructure
triage costs no evaluator call | triage/provider-error | judge/bare-claim | engine | event judge skip triage
done with evidence counts | judge/evidence-named | judge/bare-claim | engine | exit completed
a bare claim is no evidence | judge/bare-claim | judge/evidence-named | engine | event judge vetoed
string booleans are refused | judge/string-booleans | judge/evidence-named | engine | event judge parse_failure
a missing field is refused | judge/missing-field | judge/evidence-named | engine | event judge parse_failure
several objects are refused | judge/decoy-before-verdict | judge/fenced-verdict | engine | event judge parse_failure
prose around one fence is read | judge/fenced-verdict | judge/decoy-before-verdict | engine | exit completed
scores off the scale are refused | judge/score-off-scale | judge/rubric-scale | engine | event judge parse_failure
a judge's rubric is mapped | judge/rubric-scale | issues/minor-below-quality | balanced | exit quality_reached
failure_type feeds its path | judge/failure-type-blocked | judge/evidence-named | engine | exit blocked
the evaluator asks for a pause | judge/next-action-pause | judge/evidence-named | engine | exit evaluator_pause
the gate vetoes done | phases/done-too-early | phases/two-phases-advance | engine | condition completed vetoed
glob counts | phases/glob-count | phases/two-phases-advance | engine | event gate veto translate
the right confirmation | phases/user-confirmation | phases/two-phases-advance | engine | event gate veto mailing
done with phases left advances | phases/done-too-early | phases/glob-count | engine | decision advance_phase
no success while a check is open | phases/done-too-early | phases/two-phases-advance | balanced | condition quality vetoed
nothing to fix: only minor issues | issues/minor-only-unscored | issues/serious-fixable | balanced | exit nothing_to_fix
nothing to fix: empty feedback | issues/feedback-empty | reflection/plateau | reflection | exit nothing_to_fix
minor issues beside a low score | issues/minor-below-quality | issues/minor-beside-high-score | balanced | event structured_issues conflict
only unfixable serious issues | issues/serious-unfixable | issues/serious-fixable | balanced | exit unfixable
an empty list decides nothing | issues/minor-only-unscored | issues/empty-list | balanced | condition nothing_to_fix true
a declared end nobody verifies | marker/text-unanswered | marker/quoted-in-the-task | engine | exit agent_finished
a declared end, nested JSON | marker/nested-json | judge/fenced-verdict | engine | exit agent_finished
a declared end the judge answers | marker/judge-answers-no | marker/text-unanswered | engine | exit completed
a declared end the verifier answers | marker/verifier-answers-no | marker/text-unanswered | strict | exit verified
the feedback log | lessons/carried-on | lessons/not-worth-recording | engine | order Do not guess file names.
needs a human | triage/blocked-no-credentials | together/article | engine | needs human

## 5 Mechanisms
perception after actions | perception/follows-the-work | perception/quiet-between-updates | strict | asked perception twice
perception at least 30 s apart | perception/follows-the-work | perception/five-minutes | fast | event perception skip post_action
perception after five minutes | perception/five-minutes | perception/quiet-between-updates | strict | asked perception twice
perception forced | perception/forced-by-handler | perception/follows-the-work | strict | event perception run forced
perception at a loop switch | perception/loop-switch | perception/follows-the-work | strict | event perception reset loop_switch
reflection critical | reflection/level-critical | reflection/level-minimal | strict | event reflection run critical
reflection deep | reflection/level-deep | reflection/level-minimal | strict | event reflection run deep
reflection set by the handler | reflection/level-set-by-handler | reflection/level-critical | strict | event reflection skip none
reflection standard on a spin | together/http-fuzz | spin_layers/judge-says-no | strict | event reflection run standard
minimal asks no model | reflection/level-critical | reflection/level-minimal | strict | asked reflection
spin layer two says yes | spin_layers/judge-says-yes | spin_layers/judge-says-no | strict | event spin_layers warning
spin by rule, nobody recorded | spin_layers/rule-on-arguments | spin_layers/rule-other-arguments | strict | event spin_layers warning
spin warnings reach the limit | spin_layers/judge-says-yes | together/http-fuzz | strict | exit spin
a spin forces perception | together/http-fuzz | spin_layers/judge-says-no | strict | event perception run spin_detected
verification every N iterations | verification/every-round-counts | verification/prompt-steady | fast | event verification run maybe
verification after 30 s | verification/thirty-seconds | verification/prompt-steady | fast | event verification run maybe
verification on a changed prompt | verification/prompt-changed | verification/prompt-steady | fast | event verification run maybe
verification, the agent asks | verification/agent-asks | verification/every-round-counts | strict | event verification run request
verification, a handler asks | verification/handler-asks | verification/every-round-counts | strict | event verification run now
verification by watchdog | verification/watchdog-in-idle-time | verification/watchdog-rests-while-waiting | strict | event verification run watchdog
satisfied is verified | verification/satisfied | verification/every-round-counts | strict | exit verified
satisfied beside an open check | verification/satisfied-but-check-open | verification/satisfied | strict | condition verified vetoed

## 6 The decision chain
an answered pause goes on | triage/awaiting-user-answered | triage/awaiting-user | engine | condition awaiting_user answered
advance_phase | phases/two-phases-advance | phases/glob-count | engine | decision advance_phase
finalize | together/article | judge/bare-claim | engine | decision finalize
pause_blocked | triage/blocked-zh | triage/quoted-log | engine | decision pause_blocked
await_confirmation | triage/awaiting-user | triage/quoted-log | engine | decision await_confirmation
switch_strategy | repetition/another-approach-helps | repetition/same-question-new-answers | reflection | decision switch_strategy

## 7 Presets
cost stops at the first spin | together/http-fuzz | spin_layers/judge-says-no | cost | exit spin
strict goes on to the proof | together/http-fuzz | together/article | strict | exit verified
fast asks its verifier every third round | verification/every-round-counts | verification/prompt-steady | fast | asked verifier twice

## 8 Goal continuity
rule 2, go on | continuity/user-says-continue | continuity/user-says-forget-it | engine | event continuity same rule 2
rule 3, something else | continuity/user-says-forget-it | continuity/negated-marker | engine | exit goal_changed
rule 3, Chinese | continuity/starts-over-zh | continuity/user-says-continue | engine | exit goal_changed
rule 4, not interrupted | continuity/not-interrupted | continuity/unrelated-request | engine | event continuity same rule 4
rule 5, overlap | continuity/overlap-is-high | continuity/asked-and-sure | engine | event continuity same rule 5
rule 6, another request | continuity/unrelated-request | continuity/asked-but-unsure | engine | event continuity new rule 6
rule 7, asked and sure | continuity/asked-and-sure | continuity/asked-but-unsure | engine | event continuity same rule 7
rule 7, unsure or nobody to ask | continuity/nobody-to-ask | continuity/asked-and-sure | engine | exit goal_ambiguous
""")  # noqa: E501


def _movements() -> Preset:
    """The preset strict with a work order, which none of the bundled ones combine."""
    strict = load_preset("strict")
    return Preset(
        "movements", "", observe=False, guards=strict.guards,
        mechanisms=strict.mechanisms.model_copy(update={"work_order": True}),
    )  # fmt: skip


@cache
def scenarios():
    return {scenario.id: scenario for scenario in load([bundled_scenarios()])}


@cache
def episode(scenario: str, name: str) -> Episode:
    extra = EXTRA | {"movements": _movements()}
    under = extra.get(name) or load_preset(name)
    return run_episode(prepare(scenarios()[scenario], wait_ms=under.wait_ms), under)


def seen(found: Episode, see: str) -> bool:
    """Whether what ``see`` asks for happened in the episode."""
    kind, _, rest = see.partition(" ")
    times = 2 if rest.endswith(" twice") else 1
    rest = rest.removesuffix(" twice")
    conditions = [c for decision in found.decisions for c in decision.conditions]
    events = [e for iteration in found.iterations for e in iteration.events]
    happened = {
        "exit": lambda: [str(found.exit_reason)],
        "fires": lambda: [s.kind for s in found.series if any(s.fired)],
        "unknown": lambda: [c.kind for c in conditions if c.state == "unknown"],
        "condition": lambda: [f"{c.kind} {c.state}" for c in conditions],
        "decision": lambda: [d.name for d in found.decisions],
        "event": lambda: [f"{e.mechanism} {e.event} {e.trigger}" for e in events],
        "asked": lambda: [r.role for i in found.iterations for r in i.replies],
        "order": lambda: [i.work_order or "" for i in found.iterations],
        "needs": lambda: ["human"] if found.needs_human else [],
    }[kind]()
    if kind == "event":
        return sum(f"{one} ".startswith(f"{rest} ") for one in happened) >= times
    if kind == "order":
        return any(rest in one for one in happened)
    return happened.count(rest) >= times


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_it_acts(rule):
    assert seen(episode(rule.acts, rule.preset), rule.see)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_it_stays_silent(rule):
    assert not seen(episode(rule.silent, rule.preset), rule.see)


def test_perception_off_asks_nobody():
    assert not seen(episode("perception/follows-the-work", "cost"), "asked perception")


def test_presets_differ_in_what_they_ask():
    for scenario in ("together/http-fuzz", "verification/every-round-counts"):
        calls = [
            sum(len(i.replies) - 1 for i in episode(scenario, name).iterations)
            for name in ("strict", "fast", "cost")
        ]
        assert calls == sorted(set(calls), reverse=True)


def test_a_fuzzing_loop_with_everything():
    found = episode("together/http-fuzz", "strict")
    first = [(e.mechanism, e.event) for e in found.iterations[0].events]
    assert ("perception", "reset") in first
    assert ("reflection", "run") in first
    assert seen(found, "event reflection run minimal")
    assert [n for n, i in enumerate(found.iterations, 1)
            if any(r.role == "verifier" for r in i.replies)] == [2, 4, 6]  # fmt: skip
    assert [n for n, d in enumerate(found.decisions, 1)
            if any(c.action == "warn" for c in d.conditions)] == [5]  # fmt: skip
    for name in ("strict", "fast", "cost", "engine", "reflection"):
        assert episode("together/http-fuzz", name).summary


def test_an_article_in_two_phases():
    found = episode("together/article", "engine")
    assert [d.name for d in found.decisions] == [
        "continue", "continue", "advance_phase", "continue", "finalize",
    ]  # fmt: skip
    assert [i.phase for i in found.iterations] == ["facts", "facts", "facts", "text", "text"]
    assert seen(found, "event gate veto facts")
    assert seen(found, "event gate veto text")
    assert all("Work order" in i.work_order for i in found.iterations)


def document() -> str:
    """The table as a page."""
    parts = [
        "<!-- Generated by `python -m tests.test_rules`; edit the table there, not this page. -->",
        "# Rules and the scenarios that show them",
        (
            "Each rule acts in one bundled scenario and must stay silent in another, under "
            "the same preset; `tests/test_rules.py` runs both."
        ),
    ]
    for section in dict.fromkeys(rule.section for rule in RULES):
        rows = ["| rule | acts in | silent in | preset | seen as |", "|---|---|---|---|---|"]
        rows += [
            f"| {r.name} | `{r.acts}` | `{r.silent}` | {r.preset} | `{r.see}` |"
            for r in RULES
            if r.section == section
        ]
        parts += [f"## {section}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def test_the_page_is_current():
    assert DOC.read_text("utf-8") == document(), "refresh it: python -m tests.test_rules"


if __name__ == "__main__":
    DOC.write_text(document(), "utf-8")
