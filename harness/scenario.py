"""The scenario file, ``harness/scenario@1``: a goal plus the responses to replay.

The models here are the format: unknown keys, wrong types and impossible values are errors.
``harness docs scenario`` prints their JSON schema. Reading files is in ``harness.files``.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from harness.fingerprint import digest
from harness.trace import ExitReason
from harness.validation import ImpossibleError, problem

SCHEMA = "harness/scenario@1"

#: Bounds that no real recording comes near; within them every sum fits into 64 bits.
MAX_COUNT = 10**12
MAX_AMOUNT = 1e12
MAX_TOKENS = 10**10
MAX_MS = 10**12
#: Brackets within brackets in arguments and other free values.
MAX_DEPTH = 100


def _shallow(value: Any) -> Any:
    """Refuse what later recursion or printing could not take."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, int) and item.bit_length() > 10_000:
                raise ValueError("an integer of so many digits is not allowed")
        if not below:
            return value
        level = below
    raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")


Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Amount = Annotated[float, Field(ge=0, le=MAX_AMOUNT, allow_inf_nan=False)]
Finite = Annotated[float, Field(ge=-MAX_AMOUNT, le=MAX_AMOUNT, allow_inf_nan=False)]
Json = Annotated[Any, AfterValidator(_shallow)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_shallow)]
# Enumerations arrive as text in JSON and YAML; everything else stays strict.
Reason = Annotated[ExitReason, Field(strict=False)]


class Model(BaseModel):
    """Strict and frozen; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tokens(Model):
    """Tokens of one reply; ``input`` is uncached, the counts do not overlap."""

    input: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    output: Count = 0
    reasoning: Count = 0


class ReplySpec(Model):
    """A recorded model reply. Leave out what the source does not know."""

    text: str = ""
    model: str | None = None
    finish_reason: str | None = None
    ms: Count | None = None
    request_hash: str | None = None
    usage: Tokens | None = None
    error: str | None = None


class CallSpec(Model):
    """A recorded tool call. ``ok`` left out means: exit code 0 where there is one, else true."""

    tool: str
    args: Json = None
    result: str | None = None
    ok: bool | None = None
    exit_code: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    ms: Count | None = None
    key: bool = False
    builtin: bool = False


class Passed(Model):
    """A score as tests passed of tests run."""

    passed: Count
    total: Annotated[int, Field(gt=0, le=MAX_COUNT)]

    @model_validator(mode="after")
    def _bounded(self) -> Passed:
        if self.passed > self.total:
            raise ImpossibleError(
                f"{self.passed} is more than total, which is {self.total}", "passed"
            )
        return self


class Confirmation(Model):
    """A person confirmed one check of one phase."""

    phase: str
    check: str


class ReflectionOrder(Model):
    """A handler sets the level of the next reflection."""

    level: Literal["none", "minimal", "standard", "deep", "critical"]
    data: JsonObject = {}


class Handler(Model):
    """What a per-action handler asked for."""

    reflection: ReflectionOrder | None = None
    perception: str | None = None
    verify: str | None = None
    exit: bool = False


class Step(Model):
    """One iteration of the recording: what was said, done and measured."""

    user: str | None = None
    nudge: str | None = None
    interrupted: bool = False
    reply: ReplySpec = ReplySpec()
    calls: list[CallSpec] = []
    idle_ms: Count = 0
    output: str | None = None
    plan: str | None = None
    score: Finite | Passed | None = None
    judge: str | JsonObject | None = None
    feedback: str | None = None
    roles: dict[str, str | JsonObject | list[str | JsonObject]] = {}
    handler: Handler | None = None
    writes: list[str] | None = None
    confirms: list[Confirmation] = []
    loop: str | None = None

    @model_validator(mode="after")
    def _replies(self) -> Step:
        """An object that looks like a reply (text, usage, error ...) has to be one."""
        for name, value in (("judge", self.judge), *self.roles.items()):
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, dict) and item and set(item) <= set(ReplySpec.model_fields):
                    at = ("judge",) if name == "judge" else ("roles", name)
                    try:
                        ReplySpec.model_validate(item)
                    except ValidationError as error:
                        raise ImpossibleError(f"as a reply, {problem(error)[1:]}", *at) from None
        return self


class ScriptCheck(Model):
    """Holds after a successful terminal-like call ran ``command`` within ``scope``."""

    id: str
    kind: Literal["script"]
    command: Annotated[str, Field(min_length=1)]
    scope: Literal["iteration", "phase", "episode"] = "iteration"


class FileCheck(Model):
    """Holds while ``path`` exists (relative to the workspace root; absolute as given)."""

    id: str
    kind: Literal["file_exists"]
    path: Annotated[str, Field(min_length=1)]


class GlobCheck(Model):
    """Holds while at least ``min`` files match ``pattern``."""

    id: str
    kind: Literal["file_glob_count"]
    pattern: Annotated[str, Field(min_length=1)]
    min: Count = 1


class ConfirmationCheck(Model):
    """Holds once a person confirmed this check of this phase."""

    id: str
    kind: Literal["user_confirmation"]


Check = Annotated[
    ScriptCheck | FileCheck | GlobCheck | ConfirmationCheck, Field(discriminator="kind")
]


class Phase(Model):
    """A part of the task that is done when its checks hold."""

    id: str
    checks: list[Check] = []

    @model_validator(mode="after")
    def _unique(self) -> Phase:
        _refuse_duplicates("checks", [check.id for check in self.checks])
        return self


class Tool(Model):
    """How guards treat a tool: waiting is not looping; an external effect reaches people."""

    waits: bool = False
    effect: Literal["external"] | None = None


class Limits(Model):
    """Limits that the task itself sets; they override the preset's."""

    quality: Finite | None = None
    stagnation_window: Annotated[int, Field(ge=1)] | None = None
    min_delta: Amount | None = None
    patience: Count | None = None
    max_rounds: Count | None = None
    max_iterations: Count | None = None
    time_budget_s: Amount | None = None
    token_budget: Count | None = None
    cost_budget_usd: Amount | None = None
    tool_budget: Count | None = None
    spin: Count | None = None
    oscillation: Count | None = None
    parse_failures: Count | None = None
    watchdog_s: Amount | None = None


class Recorded(Model):
    """What the real run did, if known. ``limits`` names the limits that cut it off."""

    exit_reason: Reason | None = None
    exit_reason_source: Literal["explicit", "inferred"] = "explicit"
    outcome: str | None = None
    limits: JsonObject = {}


class Truth(Model):
    """What a sensible user expects of a general-purpose preset."""

    verdict: Literal["continue", "warn", "stop", "pause", "success"]
    reasons: list[Reason] = []
    by: Count | None = None
    not_before: Count | None = None
    warn_ok: bool = False
    contestable: bool = False
    why: str = ""


class Expectation(Model):
    """How an episode under one preset must end."""

    exit_reason: Reason
    iteration: Annotated[int, Field(ge=1)] | None = None


class Generate(Model):
    """A family of ``n`` scenarios with scores drawn from a process."""

    process: Literal["converge", "plateau", "oscillate", "drift", "spike"]
    n: Annotated[int, Field(ge=1, le=100_000)]
    seed: int = 0


class Init(Model):
    """What the init hook does before the first iteration."""

    perception: str | None = None


def _tools_by_name(value: Any) -> Any:
    """A list of names is short for tools without properties."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: {} for name in value}
    return value


class Task(Model):
    """What a loop works on: the part of a scenario that a live loop has too."""

    goal: str
    direction: Literal["higher", "lower"] = "higher"
    score_scale: Annotated[list[Finite], Field(min_length=2, max_length=2)] | None = None
    tools: Annotated[dict[str, Tool], BeforeValidator(_tools_by_name)] | None = None
    capabilities: list[str] = []
    completion_marker: str | JsonObject | None = None
    limits: Limits = Limits()
    phases: list[Phase] = []
    init: Init | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.score_scale and self.score_scale[0] >= self.score_scale[1]:
            raise ImpossibleError("must rise from low to high", "score_scale")
        _refuse_duplicates("phases", [phase.id for phase in self.phases])
        return self


class Scenario(Task):
    """A goal plus the responses to replay; a recording if they came from a real run."""

    schema_: Literal["harness/scenario@1"] = Field(alias="schema")
    id: Annotated[str, Field(min_length=1, max_length=300)]
    title: str = ""
    source: str | None = None
    tags: list[str] = []
    steps: list[Step] = []
    branches: dict[Literal["switch_strategy", "delegate"], list[list[Step]]] = {}
    #: Roles whose replies stand ready in case they are asked; the others' have to be played.
    spare: list[str] = []
    generate: Generate | None = None
    recorded: Recorded = Recorded()
    truth: Truth | None = None
    expect: dict[str, Expectation] = {}

    @model_validator(mode="after")
    def _possible(self) -> Scenario:
        if bool(self.steps) == bool(self.generate):
            raise ValueError("needs either 'steps' (at least one) or 'generate'")
        self._check_steps("steps", steps=self.steps)
        for kind, branches in self.branches.items():
            for number, steps in enumerate(branches):
                self._check_steps("branches", kind, number, steps=steps)
        return self

    def _check_steps(self, *at: int | str, steps: list[Step]) -> None:
        """Scores lie on the declared scale, and sums fit into the store."""
        tokens = ms = 0
        for number, step in enumerate(steps):
            if self.score_scale and isinstance(step.score, int | float):
                low, high = self.score_scale
                if not low <= step.score <= high:
                    raise ImpossibleError(
                        f"{step.score:g} lies outside score_scale, which is {low:g} to {high:g}",
                        *at, number, "score",
                    )  # fmt: skip
            reply, usage = step.reply, step.reply.usage
            if usage is not None:
                tokens += usage.input + usage.cache_read + usage.cache_write
                tokens += usage.output + usage.reasoning
            ms += (reply.ms or 0) + step.idle_ms + sum(call.ms or 0 for call in step.calls)
            if tokens > MAX_TOKENS or ms > MAX_MS:
                raise ImpossibleError(
                    f"brings the sums to {tokens:,} tokens and {ms:,} ms; at most "
                    f"{MAX_TOKENS:,} and {MAX_MS:,} are allowed",
                    *at, number,
                )  # fmt: skip

    @property
    def family(self) -> str:
        """The part of the id before the first slash."""
        return self.id.split("/", 1)[0]

    @cached_property
    def content_hash(self) -> str:
        """Hash of everything that can influence a replay, the id included.

        Title, source, tags, spare roles, truth and expectations are left out, so that accepting a
        new expectation does not make an episode incomparable with its predecessors.
        """
        data = self.model_dump(
            mode="json",
            by_alias=True,
            exclude_defaults=True,
            exclude={"title", "source", "tags", "spare", "truth", "expect"},
        )
        return digest("scenario", json.dumps(data, sort_keys=True, separators=(",", ":")))


def _refuse_duplicates(key: str, ids: list[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise ImpossibleError(f"{name!r} is used twice", key, number, "id")
        seen.add(name)


def json_schema() -> dict[str, Any]:
    """JSON schema of the scenario format, for editors and other tools."""
    return Scenario.model_json_schema(by_alias=True)
