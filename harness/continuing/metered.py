"""A live model whose calls count against an allowance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.openai_llm import Answer, Client, OpenAILLM
from harness.spending import Allowance


class Metered(OpenAILLM):
    """A live model; once its allowance is used up, roles abstain.

    Args:
        client: As for ``OpenAILLM``.
        allowance: What its calls count against.
        options: As for ``OpenAILLM``.
    """

    def __init__(self, client: Client, *, allowance: Allowance, **options: Any) -> None:
        super().__init__(client, **options)
        self._allowance = allowance

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether this role is answered: the allowance permits one more call."""
        return super().knows(role, iteration, n) and self._allowance.stopped is None

    def complete(
        self, messages: Sequence[Mapping[str, Any]], *, role: str, model: str, **settings: Any
    ) -> Answer:
        """One chat completion, counted."""
        self._allowance.take()
        answer = super().complete(messages, role=role, model=model, **settings)
        self._allowance.charge(answer.reply, model)
        return answer
