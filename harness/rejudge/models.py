"""A model as the judge: asked in the very words of a live session, by the session's own stage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness import prices
from harness.evaluate import JudgeStage
from harness.fingerprint import digest
from harness.gates import PhaseGate, ScriptedWorkspace
from harness.history import History
from harness.judge import Scale
from harness.lessons import FeedbackLog
from harness.llm import Request
from harness.mechanisms import Judge as Settings
from harness.openai_llm import Client, OpenAILLM
from harness.presetfile import MODELS
from harness.recorded import recorded_reply
from harness.rejudge.spots import Judgement, Spot, Unreachable, has_verdict
from harness.scenario import Step
from harness.spending import Allowance
from harness.stages import Now, Ties
from harness.trace import Reply, Usage
from harness.turns import turn_from
from harness.workorder import Orders

#: What the server refuses about one request, such as one that is too long: the next may pass.
_ITS_OWN = re.compile(r"HTTP (400|413|422):")
#: About so many characters make a token of English; only the dry run counts so.
CHARACTERS = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """What calls would take.

    Attributes:
        tokens: Of input, about; ``most_output`` is what the replies may have at most.
        low, high: Pico-USD without and with all of that output; ``None``: the price is unknown.
    """

    calls: int
    tokens: int
    most_output: int
    low: int | None
    high: int | None


class ModelJudge:
    """Asks a model.

    Args:
        client: An ``openai.OpenAI``; it tries again where a server is busy.
        model: Name of the model.
        allowance: What all calls together may cost; left out: no limit.
        settings: Sent with each request, over the judge's own (temperature 0, 4,096 tokens);
            ``None`` leaves one out.
    """

    def __init__(
        self,
        client: Client | None,
        model: str,
        *,
        allowance: Allowance | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.allowance = allowance or Allowance()
        self._settings = dict(settings or {})
        classes = dict.fromkeys(MODELS, model)
        self._llm = None if client is None else OpenAILLM(
            client, models=classes, settings=self._settings
        )  # fmt: skip

    @property
    def about(self) -> Mapping[str, Any]:
        """Model and settings."""
        return {"model": self.model, "settings": self._settings}

    def lacks(self, step: Step) -> bool:
        """Whether nobody has judged a step."""
        return not has_verdict(step)

    def key(self, spot: Spot) -> str:
        """Hash of the request, and of where it is asked; equal questions are asked twice."""
        return digest("judgement", request_of(spot).hash, spot.where)

    def judge(self, spot: Spot) -> Judgement | None:
        """The model's reply, whatever it is: how it reads is for the replay to say.

        Raises:
            Unreachable: The call failed for a reason that is not this request's own.
        """
        if self._llm is None:
            raise Unreachable("rejudge: no client was given")
        if not self.allowance.take():
            return None
        reply = self._llm.ask(request_of(spot))
        self.allowance.charge(reply, self.model)
        if reply.error is not None and not _ITS_OWN.match(reply.error):
            raise Unreachable(f"rejudge: {self.model} cannot be asked: {reply.error}")
        return Judgement({"judge": recorded_reply(reply)})

    def estimate(self, spots: list[Spot]) -> Estimate:
        """What judging these would take; asks nobody."""
        requests = [request_of(spot) for spot in spots]
        tokens = [sum(len(m["content"]) for m in r.messages) // CHARACTERS + 1 for r in requests]
        limit = self._settings.get("max_tokens") or Settings().max_output_tokens
        low = [prices.cost(self.model, Usage(input=n)) for n in tokens]
        high = [prices.cost(self.model, Usage(input=n, output=limit)) for n in tokens]
        return Estimate(len(spots), sum(tokens), limit * len(spots), _sum(low), _sum(high))


def _sum(costs: list[int | None]) -> int | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


class _Listening:
    """Takes down what the judge's stage asks."""

    reads = True

    def __init__(self) -> None:
        self.request: Request

    def knows(self, role: str, iteration: int, n: int) -> bool:
        return True

    def ask(self, request: Request) -> Reply:
        self.request = request
        return Reply(role=request.role, text="")


def request_of(spot: Spot) -> Request:
    """What a live session's judge would have been asked after this iteration."""
    scenario = spot.scenario
    written = [step.writes for step in spot.steps if step.writes is not None]
    turn = turn_from(spot.step, scenario, writes=written[-1] if written else None)
    listening = _Listening()
    ties = Ties(listening, History(), scenario.goal, "", MODELS)
    low, high = scenario.score_scale or (0.0, 1.0)
    gate = PhaseGate(scenario.phases, ScriptedWorkspace())
    stage = JudgeStage(Settings(), gate, Scale(low, high), FeedbackLog(0))
    stage.run(Now(spot.number, turn, ties, Orders(), replies=[turn.reply]))
    return listening.request
