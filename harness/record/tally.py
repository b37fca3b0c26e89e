"""What a recorder did, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What a recorder did.

    Attributes:
        requests: All requests, also those that ask no model.
        calls: Model calls among them, of whatever end.
        recorded: Those of them that went to a model and were recorded.
        retried: Those of them that a client repeated by itself, so that they are no further steps.
        answered: Those that the recording answered.
        episodes: Recorded episodes by the rule that put their calls together.
        drifted: Answered requests that differ from the recorded ones, in words.
        missed: Requests that the recording could not answer, in words.
        lost: Calls that could not be recorded; ``cause`` says why the first could not.
        others: Requests, as ``POST /v1/embeddings``, that are no model calls of a kind that is
            recorded, and were passed on.
        refused: The same in a replay, where they cannot be answered.
        secrets: Secrets that were taken out of what was written, each once.
    """

    requests: int = 0
    calls: int = 0
    recorded: int = 0
    retried: int = 0
    answered: int = 0
    episodes: Counter[str] = field(default_factory=Counter)
    drifted: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    lost: int = 0
    cause: str | None = None
    others: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    secrets: int = 0
