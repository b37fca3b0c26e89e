"""A call that fails again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from harness.exits import ExitReason
from harness.guards._base import Guard, Wider
from harness.guards._orders import ranked
from harness.history import UNKNOWN, History
from harness.tallies import Failures


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedFailure(Guard):
    """Stops when the same call has failed this many times without success in between.

    Calls count singly, whatever the error says and whether it may pass. ``identity``: the same
    call (``args``), the same tool (``action``), or ``any``. ``counts = "tool"`` leaves out
    commands that ran and ended with an exit code; ``broken_by = "any other"`` lets any other call
    end the count.
    """

    reason: ClassVar[ExitReason] = ExitReason.REPEATED_ERROR
    measures: ClassVar[str] = "failures of a call of this turn since it last succeeded"
    exempt: ClassVar[Mapping[str, str]] = {
        "shuffle_parallel_calls": "a success ends the count of failures that stand before it"
    }
    wider: ClassVar[Wider] = {
        "counts": ranked("tool", "any"),
        "broken_by": ranked("any other", "success"),
    }

    identity: Literal["args", "action", "any"] = "args"
    counts: Literal["any", "tool"] = "any"
    broken_by: Literal["success", "any other"] = "success"

    def bounds(self) -> tuple[float, float]:
        return 0, inf

    def signal(self, history: History) -> float:
        failures = history.tally(Failures, self.identity, self.counts, self.broken_by)
        return failures.worst if failures.seen else UNKNOWN
