"""What a loop works on: the part of a scenario that a live loop has too.

Also the number types and the strict model that the whole format is made of.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from harness.validation import ImpossibleError

#: Bounds that no real recording comes near; within them every sum fits into 64 bits.
MAX_COUNT = 10**12
MAX_AMOUNT = 1e12
MAX_TOKENS = 10**10
MAX_MS = 10**12
#: Brackets within brackets in arguments and other free values.
MAX_DEPTH = 100


def _plain(value: Any) -> Any:
    """Refuse what later recursion or printing could not take; no number is NaN or infinite.

    Such a number comes from a program that is not strict about JSON. It becomes its name, so that
    no run is lost for it, and no hash, comparison or file mistakes it for another value.
    """
    level, odd = [value], False
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list | tuple):
                below.extend(item)
            elif isinstance(item, float):
                odd = odd or not isfinite(item)
            elif isinstance(item, int) and item.bit_length() > 10_000:
                raise ValueError("an integer of so many digits is not allowed")
        if not below:
            return json_numbers(value) if odd else value
        level = below
    raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")


def json_numbers(value: Any) -> Any:
    """A copy in which NaN and the infinities are their names, as JSON has no such numbers."""
    if isinstance(value, dict):
        return {key: json_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_numbers(item) for item in value]
    return json.dumps(value) if isinstance(value, float) and not isfinite(value) else value


Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Amount = Annotated[float, Field(ge=0, le=MAX_AMOUNT, allow_inf_nan=False)]
Finite = Annotated[float, Field(ge=-MAX_AMOUNT, le=MAX_AMOUNT, allow_inf_nan=False)]
Json = Annotated[Any, AfterValidator(_plain)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_plain)]


class Model(BaseModel):
    """Strict and frozen; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


def _refuse_duplicates(key: str, ids: list[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise ImpossibleError(f"{name!r} is used twice", key, number, "id")
        seen.add(name)
