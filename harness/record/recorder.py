"""Takes in requests and replies, keeps a file of episodes, or answers from one."""

from __future__ import annotations

import json
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from harness.clock import Clock, RealClock
from harness.conversation import Asked, Conversation, Conversations
from harness.episode_file import EpisodeFile
from harness.errors import HarnessError, choices
from harness.openai_llm import Answer, words
from harness.record.canned import MISSED, Canned, failure, models, played
from harness.record.exchange import Exchange
from harness.record.framing import framing_of, request_hash
from harness.record.shelf import Shelf
from harness.record.tally import Tally
from harness.redact import Redactor
from harness.secretrules import PLACEHOLDER
from harness.text import mended
from harness.trace import Reply
from harness.wire import Format, as_json, format_of
from harness.wire.chat import CHAT

_RESULT = {"result", "ok", "exit_code"}
_log = logging.getLogger("harness")
#: A request that carries this header belongs to the episode that it names; never passed on.
HEADER = "x-harness-episode"
#: Sets the mode where a program does not.
MODE_VARIABLE = "HARNESS_RECORD_MODE"
#: What is answered from a recording and what is recorded, in the words of vcrpy.
MODES = {
    "none": "only replay; what is not recorded is an error, never a live call",
    "once": "record if the file is not there, else as none",
    "new_episodes": "answer what is recorded, record the rest",
    "all": "record everything anew, as further episodes",
}


def mode_of(given: str | None) -> str:
    """The mode that is asked for: as given, else as the environment says, else ``none``.

    Raises:
        HarnessError: There is no such mode.
    """
    mode = given or os.environ.get(MODE_VARIABLE) or "none"
    if mode not in MODES:
        raise HarnessError(f"record: mode: {choices(mode, MODES)}")
    return mode


class Recorder:
    """Takes in requests and replies, and keeps a file of episodes up to date.

    Args:
        path: The ``.jsonl`` file; lines that are there already stay.
        mode: One of ``MODES``.
        name: First part of the episodes' ids, their family.
        said: Whether later user messages are a person's or the framework's (``nudge``).
        failed: Tells from tool and result that a call failed (``harness.conversation``).
        idle_s: Idle time that ends an episode, in seconds (``harness.conversation``).
        secrets: ``.toml`` files with further patterns of secrets.
        clock: Tells time.

    Raises:
        HarnessError: A mode that does not exist, a file of patterns or a recording that cannot be
            used, a file that cannot be written or does not end in ``.jsonl``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        mode: str = "all",
        name: str = "recorded",
        said: Literal["user", "nudge"] = "user",
        failed: Callable[[str, str], bool] | None = None,
        idle_s: float | None = None,
        secrets: Iterable[str | Path] = (),
        clock: Clock | None = None,
    ) -> None:
        mode = mode_of(mode)
        found = Path(path).exists() and (Path(path).is_dir() or Path(path).stat().st_size > 0)
        if mode == "none" and not found:
            raise HarnessError(
                f"recording {path}: there is none, and mode none never asks a model; record it "
                "with mode once, new_episodes or all"
            )
        #: Whether calls may go to a model.
        self.records = mode in ("all", "new_episodes") or not found
        self.path = Path(path)
        self.tally = Tally()
        self._file = EpisodeFile(path)
        if mode != "none":
            _check(self.path, self._file if self.records else None)
        self._redactor = Redactor(secrets)
        self._redactor.learn(os.environ)
        self._shelf = Shelf(self.path, self._redactor.text) if found and mode != "all" else None
        self._clock = clock or RealClock()
        idle_ms = None if idle_s is None else round(idle_s * 1000)
        run = uuid.uuid4().hex[:8]
        self._talks = Conversations(f"{name}/{run}", said=said, failed=failed, idle_ms=idle_ms)
        self._live: set[Conversation] = set()
        self._ended: dict[Conversation, Asked] = {}
        self._encoded: dict[Conversation, list[str]] = {}
        #: Calls that are lost for good, and those that wait for a file that can be written again.
        self._gone = self._waiting = 0
        self._removed: set[str] = set()
        self._lock = threading.Lock()

    def begin(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Exchange | Canned | None:
        """Note a request.

        Args:
            method: As ``POST``.
            url: Whole, or from its path on.
            headers: With names in small letters.
            content: Its body.

        Returns:
            The answer, where it comes from the recording; else where to note what the model says;
            ``None`` where the request is to be passed on and not noted.
        """
        parts = urlsplit(url)
        form = format_of(method, parts.path)
        try:
            with self._lock:
                self.tally.requests += 1
                self._redactor.learn(headers)
                self._redactor.learn(dict(parse_qsl(parts.query)))
                body = mended(json.loads(content)) if form is not None else None
                if form is None or not isinstance(body, dict):
                    return self._other(method, parts.path)
                return self._take(form, headers, body)
        except Exception as problem:
            self._lose(problem)
            _log.warning("recorder: a request could not be recorded", exc_info=True)
            return None if self.records else failure(form or CHAT, 500, f"recorder: {problem!r}")

    def finish(self, asked: Asked, answer: Answer, *, reply_id: str | None = None) -> None:
        """Note what came back.

        Args:
            asked: What ``begin`` noted.
            answer: The reply, or one with an error.
            reply_id: Id of the reply.
        """
        try:
            with self._lock:
                now_ms = self._clock.now_ms()
                self._talks.finish(asked, answer, now_ms=now_ms, reply_id=reply_id)
                self._write(asked.conversation, ended=1)
                # A call that ends for the second time was made again by the client itself.
                self.tally.retried += self._ended.get(asked.conversation) is asked
                self._ended[asked.conversation] = asked
        except Exception as problem:
            self._lose(problem)
            _log.warning("recorder: a reply could not be recorded", exc_info=True)

    def _lose(self, problem: Exception) -> None:
        self._gone += 1
        self._count(problem)

    def _count(self, problem: Exception | None) -> None:
        self.tally.lost = self._gone + self._waiting
        if not self.tally.lost:
            self.tally.cause = None
        elif problem is not None:
            self.tally.cause = self.tally.cause or words(problem)

    def _take(
        self, form: Format, headers: Mapping[str, str], body: Mapping[str, Any]
    ) -> Exchange | Canned:
        self.tally.calls += 1
        request = form.request(body)
        hashed = request_hash(body, request, self._redactor)
        asked = self._talks.begin(
            request,
            retry=headers.get("x-stainless-retry-count", "0") != "0",
            now_ms=self._clock.now_ms(),
            episode=headers.get(HEADER) or None,
            framing=framing_of(hashed),
        )
        found = asked.conversation
        known = None if self._shelf is None else self._play(self._shelf, form, asked, body, hashed)
        if known is not None:
            return known
        if found not in self._live:
            self._live.add(found)
            self._go_on_from(found)
            self.tally.episodes[found.rule] += 1
        self._file.reserve(found.id)
        self._write(found)
        return Exchange(self, asked, form, str(body.get("model") or ""), hashed)

    def _play(
        self, shelf: Shelf, form: Format, asked: Asked, body: Mapping[str, Any], hashed: str
    ) -> Canned | None:
        """The recorded answer, or that there is none; ``None`` where a model may be asked."""
        place = shelf.place(asked, hashed)
        if place is not None:
            self.tally.drifted += filter(None, [shelf.drift(asked, place, hashed)])
            self.tally.answered += 1
            canned, answer, reply_id = played(form, place, body)
        elif self.records:
            return None
        else:
            words = shelf.miss(asked.conversation)
            self.tally.missed.append(words)
            answer, reply_id = Answer(Reply("actor", "", error=words)), None
            canned = failure(form, MISSED, words)
        self._talks.finish(asked, answer, now_ms=self._clock.now_ms(), reply_id=reply_id)
        return canned

    def _go_on_from(self, found: Conversation) -> None:
        """Write what a played episode goes on with into that very episode."""
        episode = None if self._shelf is None else self._shelf.taken(found)
        if episode is None:
            return
        found.base = episode.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        found.id = episode.id
        for step, recorded in zip(found.steps, found.base["steps"], strict=True):
            calls = recorded.pop("calls", [])
            step.update(recorded)
            for call, old in zip(step.get("calls", ()), calls, strict=True):
                # Results are this run's, as it went on with them.
                call.update({key: old[key] for key in old.keys() - _RESULT})

    def _other(self, method: str, path: str) -> Canned | None:
        asked = self._redactor.text(f"{method} {path}")
        if not self.records:
            if self._shelf is not None and method == "GET" and path.endswith("/models"):
                return models(self._shelf.models)
            self.tally.refused[asked] += 1
            return failure(CHAT, MISSED, f"recording {self.path}: {asked} is never recorded")
        if method == "POST":
            self.tally.others[asked] += 1
            if self.tally.others[asked] == 1:
                _log.warning("recorder: calls of %s are not recorded", self._redactor.text(path))
        return None

    def _clean(self, value: dict[str, Any]) -> str:
        """A part of an episode as it is written."""
        before = self._redactor.removed
        text = as_json(self._redactor.value(value))
        if self._redactor.removed > before:
            # Equal secrets have equal placeholders; a result is written again with its step.
            self._removed.update(PLACEHOLDER.findall(text))
            self.tally.secrets = len(self._removed)
        return text

    def _write(self, found: Conversation, *, ended: int = 0) -> None:
        """Bring the file up to date, now or, where it cannot be written, with the next call."""
        steps = self._encoded.setdefault(found, [])
        kept = min(found.changed, len(steps), len(found.steps))
        fresh = found.steps[kept:]
        steps[kept:] = map(self._clean, fresh)
        found.changed = len(found.steps)
        if not steps:
            return
        head = self._clean(found.head())
        self._waiting += ended
        try:
            self._file.put(found.id, f'{head[:-1]},"steps":[{",".join(steps)}]}}')
        except OSError as problem:
            self._count(problem)
            _log.warning("recorder: a call could not be recorded so far", exc_info=True)
        else:
            self.tally.recorded += self._waiting
            self._waiting = 0
            self._count(None)


def _check(path: Path, file: EpisodeFile | None) -> None:
    """Refuse what cannot be recorded into, before anything runs."""
    if path.suffix != ".jsonl":
        raise HarnessError(f"recording {path}: its name must end in .jsonl")
    if path.is_dir():
        raise HarnessError(f"recording {path}: is a folder; name a file")
    try:
        if file is not None:
            file.check()
    except OSError as error:
        raise HarnessError(f"recording {path}: cannot be written: {error.strerror}") from None
