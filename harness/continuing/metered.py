"""A live model whose calls count against an allowance, and whose roles keep no secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.llm import Request
from harness.openai_llm import Answer, Client, OpenAILLM
from harness.redact import Redactor
from harness.spending import Allowance
from harness.trace import Reply


class Metered(OpenAILLM):
    """A live model; once its allowance is used up, roles abstain.

    Args:
        client: As for ``OpenAILLM``.
        allowance: What its calls count against.
        redactor: Takes secrets out of what roles reply; an agent's own turns stay as they are.
        options: As for ``OpenAILLM``.

    Attributes:
        answered: Calls that brought a reply.
        failure: Why the last of the others brought none.
    """

    def __init__(
        self, client: Client, *, allowance: Allowance, redactor: Redactor, **options: Any
    ) -> None:
        super().__init__(client, **options)
        self._allowance, self._redactor = allowance, redactor
        self.answered = 0
        self.failure: str | None = None

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether this role is answered: the allowance permits one more call."""
        return super().knows(role, iteration, n) and self._allowance.stopped is None

    def ask(self, request: Request) -> Reply:
        """The model's reply without secrets; where the call failed, one with ``error`` set."""
        reply = super().ask(request)
        error = reply.error and self._redactor.text(reply.error)
        return replace(reply, text=self._redactor.text(reply.text), error=error)

    def complete(
        self, messages: Sequence[Mapping[str, Any]], *, role: str, model: str, **settings: Any
    ) -> Answer:
        """One chat completion, counted."""
        self._allowance.take()
        answer = super().complete(messages, role=role, model=model, **settings)
        self._allowance.charge(answer.reply, model)
        if answer.reply.error is None:
            self.answered += 1
        else:
            self.failure = self._redactor.text(answer.reply.error)
        return answer
