"""Who answers the roles of a live loop: what was handed in, then a model or nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.errors import ReplayMiss
from harness.llm import LLM, Request
from harness.trace import Reply


class Answering:
    """Answers with what was handed in, as a replay would; then passes on to a model.

    Args:
        llm: Answers what was not handed in; ``None``: nobody does, and what needs it abstains.
    """

    def __init__(self, llm: LLM | None = None) -> None:
        self.current = llm
        self._told: Mapping[str, Sequence[Reply]] = {}

    def hear(self, told: Mapping[str, Sequence[Reply]]) -> None:
        """Take the replies of one iteration's roles, instead of those before it."""
        self._told = told

    @property
    def reads(self) -> bool:
        """Whether requests are looked at."""
        return self.current is not None and self.current.reads

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether somebody can answer this role here."""
        if n <= len(self._told.get(role, ())):
            return True
        return self.current is not None and self.current.knows(role, iteration, n)

    def ask(self, request: Request) -> Reply:
        """The reply.

        Raises:
            ReplayMiss: Nobody answers.
        """
        told = self._told.get(request.role, ())
        if request.n <= len(told):
            return told[request.n - 1]
        if self.current is None:
            raise ReplayMiss(lambda: f"nobody answers role {request.role!r}")
        return self.current.ask(request)
