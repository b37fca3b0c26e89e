"""A call that fails again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.guards._base import Guard
from harness.history import UNKNOWN, History
from harness.tallies import Failures
from harness.trace import ExitReason


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

    identity: Literal["args", "action", "any"] = "args"
    counts: Literal["any", "tool"] = "any"
    broken_by: Literal["success", "any other"] = "success"

    def signal(self, history: History) -> float:
        failures = history.tally(Failures, self.identity, self.counts, self.broken_by)
        return failures.worst if failures.seen else UNKNOWN
