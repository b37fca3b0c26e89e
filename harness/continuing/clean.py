"""Secrets are taken out of what a live model says and does, before anything of it is kept.

The agent and its tools go on with the originals. What guards and roles see is what is stored and
recorded, so that the recording decides as the loop did.
"""

from __future__ import annotations

from typing import Any

from harness.live import LoopGuard
from harness.preset import Preset
from harness.redact import Redactor
from harness.verdicts import Decision


class CleanGuard(LoopGuard):
    """Guards a live loop without its secrets.

    Args:
        preset: As for ``LoopGuard``.
        redactor: Takes them out.
        options: As for ``LoopGuard``.
    """

    def __init__(self, preset: str | Preset, *, redactor: Redactor, **options: Any) -> None:
        super().__init__(preset, **options)
        self._redactor = redactor

    def observe(self, **iteration: Any) -> Decision:
        """Take in one iteration, its text, calls and results without secrets."""
        return super().observe(**self._redactor.value(iteration))
