"""The scenario file, ``harness/scenario@1``: a goal plus the responses to replay.

The models here are the format: unknown keys, wrong types and impossible values are errors. In free
values (arguments ...) NaN and the infinities, which JSON does not have, are read as their names.
``harness docs scenario`` prints their JSON schema. Reading files is in ``harness.files``.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from harness.exits import ExitReason
from harness.fingerprint import digest
from harness.task import (
    MAX_COUNT,
    MAX_MS,
    MAX_TOKENS,
    Count,
    Finite,
    Json,
    JsonObject,
    Model,
    Task,
)
from harness.validation import ImpossibleError, problem

SCHEMA = "harness/scenario@1"
# Enumerations arrive as text in JSON and YAML; everything else stays strict.
Reason = Annotated[ExitReason, Field(strict=False)]


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


class Recorded(Model):
    """What the real run did, if known. ``limits`` names the limits that cut it off.

    ``exit_reason_source`` is ``unknown`` where the source was looked at and does not tell; a replay
    then does not take a last turn without calls for the agent's own end.
    """

    exit_reason: Reason | None = None
    exit_reason_source: Literal["explicit", "inferred", "unknown"] = "explicit"
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


class Scenario(Task):
    """A goal plus the responses to replay; a recording if they came from a real run."""

    schema_: Literal["harness/scenario@1"] = Field(alias="schema")
    id: Annotated[str, Field(min_length=1, max_length=300)]
    title: str = ""
    source: str | None = None
    tags: list[str] = []
    #: Off where the source did not keep what was said and done: a reply's text, arguments and
    #: results that are absent are then unknown, not empty, and no guard compares them.
    content_captured: bool = True
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


def json_schema() -> dict[str, Any]:
    """JSON schema of the scenario format, for editors and other tools."""
    return Scenario.model_json_schema(by_alias=True)
