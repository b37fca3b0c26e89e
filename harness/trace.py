"""The one vocabulary: what happened in a loop and what was measured there.

What was decided is in ``verdicts``, why loops end in ``exits``. Spans, rows, reports and tests
are projections of these frozen types. Times are integer milliseconds, money is integer pico-USD,
token counts are integers; ``None`` means unknown, zero means zero. Iterations count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Replay = Literal["exact", "censored", "diverged"]
Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model reply. ``input`` is uncached; the five counts do not overlap.

    OpenTelemetry's ``gen_ai.usage.input_tokens`` includes cached tokens; see ``input_all``.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input_all(self) -> int:
        """Input tokens with cached ones, as OpenTelemetry counts them."""
        return self.input + self.cache_read + self.cache_write

    @property
    def output_all(self) -> int:
        """Output tokens with reasoning, as providers bill them."""
        return self.output + self.reasoning

    @property
    def total(self) -> int:
        """All five counts."""
        return self.input_all + self.output_all


class Text:
    """A text that guards compare, with the digest that says whether two are the same.

    Compared and hashed by identity, so that similarities can be remembered cheaply.
    """

    __slots__ = ("digest", "text")

    def __init__(self, text: str, digest: str) -> None:
        self.text = text
        self.digest = digest

    def __repr__(self) -> str:
        return f"Text({self.text[:40]!r})"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its result and the fingerprints by which guards compare it.

    Attributes:
        args: Canonical JSON of the arguments (sorted keys, null members left out).
        ok: Whether it succeeded.
        waits: It waited on purpose (declared by the tool, or longer than ``wait_ms``).
        transient: It failed for a reason outside the agent (HTTP 429, time-out, ...).
        prints: Fingerprint for each identity policy (see ``harness.fingerprint``) but those that
            read what was not captured.
        error: Signature of the failure, ``None`` if it succeeded or said nothing.
    """

    tool: str
    args: str
    result: str | None
    ok: bool
    exit_code: int | None
    ms: int | None
    waits: bool
    external: bool
    transient: bool
    key: bool
    builtin: bool
    prints: Mapping[str, str]
    error: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """One model reply to one role: ``role`` is the actor or an evaluator's name.

    ``cost`` is integer pico-USD, ``None`` where the model's price or the usage is unknown;
    ``error`` is set where the call failed and nothing came back.
    """

    role: str
    text: str
    model: str | None = None
    usage: Usage | None = None
    cost: int | None = None
    ms: int | None = None
    finish_reason: str | None = None
    request_hash: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What one iteration brought in from outside: the reply, its calls, what people said.

    Everything that does not depend on a preset is worked out once, when a scenario is loaded.

    Attributes:
        moves: For each identity policy the fingerprint of the turn's action: the set of its
            calls, without waiting and transient ones; ``None`` if nothing is left.
        call_prints: For each identity policy the fingerprints of the distinct calls, in order.
        results: Fingerprints of the results of the calls that succeeded, waiting ones left out.
        errors: Signatures of the failed calls, where no call of the turn succeeded.
        transient: All its failed calls failed for transient reasons, and there was one.
        ms: Reply plus the longest parallel call plus ``idle_ms``; ``None`` if a part of it was
            not recorded, and ``known_ms`` is then the part that was.
        passage_repeats: How often one passage recurs inside the reply.
        roles: Recorded replies of other roles (``judge``, ``verifier``, ...), in order of asking.
        feedback_empty: Feedback was asked for and came back empty.
        unseen: What cannot be compared because it was not captured: identity policies of its calls,
            and ``text`` for the reply's.
        source: Where it stands in the recording: branch (``""`` is the trunk) and step from 1.
    """

    reply: Reply
    text: Text | None = None
    calls: tuple[Call, ...] = ()
    user: str | None = None
    nudge: str | None = None
    interrupted: bool = False
    idle_ms: int = 0
    ms: int | None = None
    known_ms: int = 0
    output: Text | None = None
    plan: Text | None = None
    feedback: Text | None = None
    feedback_empty: bool = False
    score: float | None = None
    roles: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict)
    handler: Mapping[str, Any] | None = None
    writes: frozenset[str] | None = None
    confirms: tuple[tuple[str, str], ...] = ()
    loop: str | None = None
    moves: Mapping[str, str | None] = field(default_factory=dict)
    call_prints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    errors: frozenset[str] = frozenset()
    failed: bool = False
    transient: bool = False
    waiting: bool = False
    passage_repeats: int = 0
    unseen: frozenset[str] = frozenset()
    source: tuple[str, int] = ("", 0)


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding of a judge; only a serious one that can be fixed is worth a further round."""

    description: str
    severity: Literal["minor", "serious", "critical"]
    fixable: bool


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a round taught: the mistake, what to avoid, what to try next."""

    mistake: str | None
    avoid: str | None
    next_strategy: str | None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One phase check as it was looked at; ``detail`` says what it needs."""

    phase: str
    check: str
    kind: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class MechanismEvent:
    """One run or skip of a mechanism, with its trigger, the reason and the result."""

    mechanism: str
    event: str
    trigger: str | None = None
    reason: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was learned about an iteration's quality. ``None`` means nobody said.

    Attributes:
        score: Mapped to 0..1 where a scale is declared, rounded to 9 decimals.
        score_source: ``measured`` (outside) wins over ``judge``.
        parsed: Whether the evaluator's reply obeyed its format; ``None`` if none came.
        failed: The evaluator's call failed (transport); its reply never came.
        claimed: It called something done without naming evidence, which does not count.
        issues: ``None`` where it gave no list.
    """

    score: float | None = None
    score_source: Literal["measured", "judge"] | None = None
    parsed: bool | None = None
    failed: bool = False
    done: bool | None = None
    phase_done: bool | None = None
    progress: Literal["none", "some", "major"] | None = None
    reason: str | None = None
    evidence: tuple[str, ...] = ()
    next_action: Literal["continue", "pause"] | None = None
    failure_type: str | None = None
    claimed: bool = False
    issues: tuple[Issue, ...] | None = None
    lesson: Lesson | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """One assistant turn with its tool calls and its evaluation: what guards measure.

    ``replies`` are all model replies of the iteration, the actor's first. ``cost`` and ``ms``
    cover all of them; ``None`` is unknown. ``phase`` is the id of the phase it worked in,
    ``overlap`` that of a person's message with the goal, ``work_order`` the text ahead of the
    actor's input.
    """

    number: int
    turn: Turn
    evaluation: Evaluation
    replies: tuple[Reply, ...]
    ms: int | None
    phase: str | None = None
    events: tuple[MechanismEvent, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    work_order: str | None = None
    overlap: float | None = None
