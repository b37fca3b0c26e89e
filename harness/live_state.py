"""A live loop as it is saved: what it needs, besides its recording, to go on elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from harness.errors import HarnessError
from harness.recorded import task_of
from harness.scenario import Scenario
from harness.validation import problem


class Said(BaseModel):
    """What was said to an agent and stands in no recorded turn yet; kept by whoever drives it.

    Attributes:
        user: By a person, since the last reply.
        told: By others, since the last reply: nudges, refusals, the framework.
        hints: What guards want said and nobody has said yet.
        before: Before the reply that waits for its results, by the key of its step.
        prompt: What the run began with.
        open: The run has not ended by itself.
        cut: The run of the last turn broke off.
        asked: Ids of the replies that stood in the conversation when the model was asked; ``None``
            where no reply is due.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    user: str | None = None
    told: list[str] = Field(default_factory=list)
    hints: list[str] = Field(default_factory=list)
    before: dict[str, str] = Field(default_factory=dict)
    prompt: str | None = None
    open: bool = False
    cut: bool = False
    asked: list[str] | None = None

    def saved(self) -> dict[str, Any] | None:
        """As plain JSON; ``None`` where nothing was said."""
        return self.model_dump(exclude_defaults=True) or None


class State(BaseModel):
    """What ``LoopGuard.state`` returns."""

    # What an application keeps beside it is its own affair.
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    preset: str = ""
    recording: dict[str, Any]
    answer: str | None = None
    idle_ms: NonNegativeInt = 0
    worked_ms: NonNegativeInt = 0
    said: Said = Field(default_factory=Said)

    def arguments(self, preset: object = None) -> dict[str, Any]:
        """What to make the guard with.

        Args:
            preset: Stands in for the state's.

        Raises:
            HarnessError: There is no preset.
        """
        preset = preset or self.preset
        if not preset:
            raise HarnessError("state.preset: is required, or restore(state, preset=...)")
        recording = self.recording
        head = {"goal": recording["goal"], "name": recording["id"], "task": task_of(recording)}
        return {**head, "preset": preset}


def checked_state(state: Mapping[str, Any]) -> State:
    """A saved loop, if it keeps the format.

    Raises:
        HarnessError: It does not; names the key.
    """
    try:
        found = State.model_validate(dict(state) if isinstance(state, Mapping) else state)
    except ValidationError as error:
        raise HarnessError(f"state{problem(error)}") from None
    recording = found.recording
    # A loop is saved before its first turn, too; a scenario has steps.
    steps = [{}] if recording.get("steps") == [] else recording.get("steps")
    try:
        Scenario.model_validate({**recording, "steps": steps})
    except ValidationError as error:
        raise HarnessError(f"state.recording{problem(error)}") from None
    return found
