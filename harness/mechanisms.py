"""Settings of the mechanisms that are not guards: what a preset switches on beside them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
ModelClass = Literal["fast", "quality"]


#: The roles that models play, and the mechanism that asks each.
ROLES = {
    "judge": "judge",
    "continuity": "continuity",
    "perception": "perception",
    "reflection": "reflection",
    "spin_judge": "spin_layers",
    "verifier": "verification",
}


class Settings(BaseModel):
    """Strict and frozen; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Judge(Settings):
    """An LLM judge after each turn that triage did not settle."""

    model: ModelClass = "quality"
    temperature: Annotated[float, Field(ge=0, le=2)] = 0
    max_output_tokens: Annotated[int, Field(ge=1)] = 4096


class Continuity(Settings):
    """Does a person's new message go on with the goal? The overlap is a stored signal."""

    same_above: Share = 0.24
    new_below: Share = 0.08
    min_confidence: Share = 0.72


class Perception(Settings):
    """Topics and keywords of what is going on, for the next prompt."""

    model: ModelClass = "fast"
    min_interval_s: Seconds = 30
    max_interval_s: Seconds = 300


class Reflection(Settings):
    """Thinking about the last action, on five levels."""

    model: ModelClass = "fast"


class SpinLayers(Settings):
    """Spin detection in two layers: a run of equal action types, then a judge."""

    run: Annotated[int, Field(ge=2)] = 3
    max_warnings: Annotated[int, Field(ge=1)] = 2
    model: ModelClass = "fast"


class Verification(Settings):
    """A verifier that looks at the evidence now and then, on request, and by watchdog."""

    model: ModelClass = "fast"
    every: Annotated[int, Field(ge=1)] = 2
    after_s: Seconds = 30
    token_change: Annotated[int, Field(ge=0)] = 500
    watchdog_s: Seconds = 120


class Mechanisms(Settings):
    """Which mechanisms run; ``false`` or left out is off, ``true`` takes the defaults."""

    work_order: bool = False
    triage: bool = False
    gates: bool = False
    structured_issues: bool = False
    feedback_log: Annotated[int, Field(ge=0)] = 0
    judge: Judge | None = None
    continuity: Continuity | None = None
    perception: Perception | None = None
    reflection: Reflection | None = None
    spin_layers: SpinLayers | None = None
    verification: Verification | None = None
