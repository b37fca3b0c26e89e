"""Scores and verdicts for recordings that lack them: by a model, or by a function of the user's.

::

    judge = FunctionJudge(lambda moment: len(moment.step.reply.text) / 1000)
    result = rejudge(["runs.jsonl"], Path("judged.jsonl"), judge)
"""

from __future__ import annotations

from harness.rejudge.functions import FunctionJudge, Moment
from harness.rejudge.models import ModelJudge
from harness.rejudge.work import Result, rejudge

__all__ = ["FunctionJudge", "ModelJudge", "Moment", "Result", "rejudge"]
