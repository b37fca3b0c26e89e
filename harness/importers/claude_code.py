"""Claude Code: session files, and the output of ``claude -p --output-format stream-json``.

Reads one file (``~/.claude/projects/PROJECT/SESSION.jsonl``), or all ``*.jsonl`` below a folder;
also the one list that ``--output-format json --verbose`` prints.

What makes one run: the lines of one file and one thread, up to ``/clear``. So

- a file is never joined with another, also not where they share a slug: the later one began with
  an empty context, as a loop of its own. The tag ``slug:...`` says which belong together;
- ``/clear`` within a file ends a run and begins the next;
- a compaction ends nothing: the loop goes on, and its summary is the ``nudge`` of the next step;
- a sub-agent (sidechain) is a run of its own (tag ``sub-agent``), whether it lies in the session's
  file or in one of its own (``agent-ID.jsonl``).

Kinds of lines that are no part of the loop (titles, snapshots, queues, progress, ...) are passed
over, and so are kinds that are not known yet. A line that stands in a file twice, by its uuid,
counts once; the lint ``repeated-record`` tells of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers._base import Place, shown, slug, unique
from harness.importers._claude_thread import Thread
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_records
from harness.importers._steps import recording

NAME = "claude-code"
TITLE = "Claude Code sessions and stream-json output"
LACKS: tuple[str, ...] = (
    "scores and outcome",
    "tools that were never called (stream-json lists them all)",
    "how a session ended, unless its last message tells (stream-json says it)",
    "output tokens of messages written before they ended, unless a result has the sum (low-usage)",
    "times in stream-json output",
    "reasoning tokens (they are within the output)",
    "which lines of a forked session are copies (they count again)",
    "thinking, images and what hooks added (not copied)",
)
TOKENS = (
    "As message.usage has them, which do not overlap: input_tokens, cache_read_input_tokens, "
    "cache_creation_input_tokens, output_tokens. One message stands in several lines that repeat "
    "its usage; it counts once, by message.id, as the last line has it. In stream-json the counts "
    "of message_delta go before (--include-partial-messages); without them output_tokens are those "
    "at a message's start, so that counts which a result says more of are its total, spread evenly "
    "over the messages since the result before it (tag spread:usage). Where sub-agents worked in "
    "between, whose tokens a total may contain, it is not used. Messages the program made up "
    "itself (model <synthetic>) have none."
)
ITERATION = (
    "One message of the model, by message.id, with the results of its calls, in the order of the "
    "file. A reply took from the line before it to its last line, a call until its result; a "
    "person's message after the agent's came after idle time. A call failed where its result says "
    "is_error. What the program said for the person (isMeta, compaction, reminders) is a nudge. A "
    "line that comes again, by its uuid, counts once."
)
EXIT_REASON = (
    "Explicit in stream-json from a result that nothing follows: success is agent_finished, "
    "error_max_turns max_iterations, error_max_budget_usd cost_budget, another error error. Else "
    "inferred: a last message that ended by itself (end_turn, stop_sequence) without calls is "
    "agent_finished, one that is an API error is error. Anything else is unknown, also a last "
    "message whose stop_reason is null: it may have broken off."
)

_LINES = ("user", "assistant")
#: So many uuids of a file are kept, to tell lines that stand in it twice.
_MOST_IDS = 2**20
#: Kinds of lines a file can begin with that are no messages and have no uuid.
_ASIDE = frozenset(
    {
        "queue-operation", "last-prompt", "custom-title", "ai-title", "agent-name", "agent-setting",
        "permission-mode", "mode", "tag", "pr-link", "worktree-state",
    }
)  # fmt: skip
_SESSION = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent-[\w-]+)\.jsonl")
_CLEAR = re.compile(r"\s*(?:<[\w-]+>[^<]*</[\w-]+>\s*)*<command-name>/clear</command-name>")


def fits(head: Head) -> bool:
    """JSON Lines of a session or a stream, a stream as one list; also a folder of sessions."""
    if head.kind == "folder":
        names = [name.rpartition("/")[2] for name in head.names]
        # Harbor keeps the sessions beside its own trajectories.
        return "trajectory.json" not in names and any(map(_SESSION.fullmatch, names))
    kind = head.get("type")
    if head.kind not in ("lines", "list") or not isinstance(kind, str):
        return False
    if head.kind == "list":
        return kind == "system" and head.has("session_id", "subtype")
    if head.has("sessionId"):
        return head.has("uuid") or kind in _ASIDE
    streamed = head.has("session_id") and kind in (*_LINES, "system")
    return streamed or head.has("leafUuid", "summary") or head.has("messageId", "snapshot")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each thread of a session, in the order in which they began.

    Raises:
        ImportFormatError: The file holds no message of the model, or a folder no session.
    """
    seen: dict[str, int] = {}
    if not path.is_dir():
        yield from _session(path, intake, seen)
        return
    files = sorted(path.rglob("*.jsonl"))
    if not files:
        raise ImportFormatError(f"{path}: the folder holds no *.jsonl file")
    for file in files:
        with intake.record(Place(file, "session")):
            yield from _session(file, intake, seen)


def _session(path: Path, intake: Intake, seen: dict[str, int]) -> Iterator[dict[str, Any]]:
    threads = _Threads()
    for place, line in json_records(path, intake, what="message"):
        with intake.record(place, line):
            threads.take(place, line)
    made = [thread for thread in threads.all if thread.found.steps]
    if not made:
        raise ImportFormatError(
            f"{path}: holds no message of the model (a line of type 'assistant')"
        )
    for thread in made:
        with intake.record(Place(path, f"session from {thread.began.spot}"), thread.lines):
            yield _recording(path, thread, seen)


class _Threads:
    """The threads of one file: the session's own, one after each ``/clear``, and sub-agents'."""

    def __init__(self) -> None:
        self.all: list[Thread] = []
        self._open: dict[str, Thread] = {}
        self._parents: dict[str, str] = {}
        self._seen: set[str] = set()

    def take(self, place: Place, line: Any) -> None:
        kind = place.get(line, "type", str)
        name = self._name(line)
        if kind in _LINES and self._repeats(line):
            if (told := self._open.get(name)) is not None:
                told.lines.append(line)
            return
        if kind == "user" and _clears(line):
            self._open.pop(name, None)
            return
        thread = self._open.get(name)
        if thread is None:
            thread = self._open[name] = Thread(place, nested=bool(name))
            self.all.append(thread)
        thread.take(place, line)
        if name and (own := self._open.get("")) is not None:
            own.delegated = True

    def _repeats(self, line: dict[str, Any]) -> bool:
        """Whether a line with this uuid came before; of very long files, among the first ones."""
        uuid = line.get("uuid")
        if not isinstance(uuid, str) or uuid in self._seen:
            return isinstance(uuid, str)
        if len(self._seen) < _MOST_IDS:
            self._seen.add(uuid)
        return False

    def _name(self, line: dict[str, Any]) -> str:
        """The thread of a line: empty for the session's own, else what names the sub-agent."""
        if isinstance(parent := line.get("parent_tool_use_id"), str):
            return parent
        if line.get("isSidechain") is not True:
            return ""
        if isinstance(agent := line.get("agentId"), str):
            return agent
        # Without an id, a sidechain is known by the message it began with.
        above, uuid = line.get("parentUuid"), line.get("uuid")
        root = self._parents.get(above) if isinstance(above, str) else None
        root = root or (uuid if isinstance(uuid, str) else "sidechain")
        if isinstance(uuid, str):
            self._parents[uuid] = root
        return root


def _clears(line: dict[str, Any]) -> bool:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) and _CLEAR.match(content) is not None


def _recording(path: Path, thread: Thread, seen: dict[str, int]) -> dict[str, Any]:
    session = thread.session or path.stem
    agent = thread.agent or path.stem
    name = f"{session}-{agent}" if thread.nested else session
    ending = thread.ending()
    tags = [NAME, *(["sub-agent"] if thread.nested else [])]
    tags += ["spread:usage"] if thread.spread else []
    if thread.slug:
        tags.append(f"slug:{slug(thread.slug)}")
    return recording(
        unique(f"{NAME}/{slug(name)}", seen),
        f"Claude Code {'sub-agent' if thread.nested else 'session'} {shown(name)[1:-1]}",
        f"{NAME}:{path.name}",
        thread.found,
        ending,
        tags=tags,
        tools=thread.tools,
    )
