"""Recording any agent as scenarios to replay, and answering it again from its recording.

From outside, in whatever language (``harness record -- COMMAND``, ``harness.record.proxy``), or
inside a Python program that uses the ``openai`` client::

    client = openai.OpenAI(http_client=httpx2.Client(transport=RecordingTransport("runs.jsonl")))

    with recording("runs.jsonl"):
        run_my_agent()          # makes its own clients, sync or async, streamed or not

    with cassette("runs.jsonl"):
        run_my_agent()          # asks no model: answers come from the recording

Each episode is one line of the file (``harness.conversation`` says which calls belong together).
Secrets are taken out before anything is written, and headers never are. The file is replaced as a
whole at each change, so that a killed process leaves whole lines only; a fault of the recorder is
logged and never reaches the agent. Several processes may write one file.
"""

from __future__ import annotations

from harness.record.recorder import HEADER, MODE_VARIABLE, MODES, Recorder, mode_of
from harness.record.tally import Tally
from harness.record.transports import (
    AsyncRecordingTransport,
    RecordingTransport,
    cassette,
    recording,
)

__all__ = [
    "HEADER",
    "MODES",
    "MODE_VARIABLE",
    "AsyncRecordingTransport",
    "Recorder",
    "RecordingTransport",
    "Tally",
    "cassette",
    "mode_of",
    "recording",
]
