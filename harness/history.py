"""What has happened so far, kept so that a signal costs its window and not the episode.

Guards read a history and nothing else. The loop appends one iteration at a time; totals, run
lengths and fingerprints are brought up to date there, or when a guard first asks for them.
"""

from __future__ import annotations

from typing import cast

from harness.fingerprint import DEFAULT_IDENTITY
from harness.tallies import T, Tally
from harness.trace import Call, Direction, Evaluation, Iteration, Text, Turn
from harness.trails import Trail, Trails, moves_on, text_of

#: Unknown: nothing could be measured. Compares false with every threshold.
UNKNOWN = float("nan")


class History:
    """What has happened so far.

    Attributes:
        length: Iterations completed.
        memo, path: Dear signals that depend on the recorded turns alone, remembered by the path
            taken through the recording, so that every preset finds them worked out.
        now: The newest iteration; only read it when ``length`` is not 0.
        elapsed_ms, elapsed_known: Virtual time so far; a lower bound where not known.
        tokens_total, tokens_output, tokens_uncached, tokens_known: Over all roles.
        cost_pico_usd, cost_known: Over all roles.
        calls: Tool calls made; ``acting_turns`` are the turns that made any.
        scores: Known scores in order.
        gains: Improvement of each score over the one before it; a fall is negative.
        gains_over_best: Improvement of each score over the best before it.
        best_score, best_iteration: Changes only on a strictly better score.
        since_best: Scored iterations since the last new best.
        idle_turns: Trailing turns without a tool call since a person last spoke.
        transient_turns: Trailing turns whose failed calls failed for passing reasons.
        error_turns: Trailing turns that failed with the same error signature; like those before,
            ``UNKNOWN`` where the newest failure was not captured.
        unparsed, unreachable: Trailing evaluator replies that could not be parsed, and calls
            that failed; ``evaluator_asked`` says whether there was any.
        stalled: Trailing iterations without observable progress, by what counts as progress;
            ``progress_sensed`` says whether there was anything to tell by; ``UNKNOWN``
            from a result that was not captured until something is new.
    """

    def __init__(
        self,
        *,
        direction: Direction = "higher",
        has_tools: bool | None = None,
        memo: dict[tuple[object, ...], float] | None = None,
    ) -> None:
        self.direction = direction
        self.sign = -1.0 if direction == "lower" else 1.0
        self.has_tools = has_tools
        self.memo = {} if memo is None else memo
        self.path = ""
        self.length = 0
        self.now: Iteration
        self.elapsed_ms = 0
        self.elapsed_known = True
        self.tokens_total = 0
        self.tokens_output = 0
        self.tokens_uncached = 0
        self.tokens_known = True
        self.cost_pico_usd = 0
        self.cost_known = True
        self.calls = 0
        self.acting_turns = 0
        self.scores: list[float] = []
        self.gains: list[float] = []
        self.gains_over_best: list[float] = []
        self.best_score: float | None = None
        self.best_iteration: int | None = None
        self.since_best = 0
        self.idle_turns = 0
        self.transient_turns: float = 0
        self.error_turns: float = 0
        self.unparsed = 0
        self.unreachable = 0
        self.evaluator_asked = False
        self._error_runs: dict[str, int] = {}
        self._turns: list[Turn] = []
        self._trails = Trails()
        self._tallies: dict[tuple[type, tuple[str, ...]], Tally] = {}
        self._texts: dict[str, list[Text]] = {}
        self._seen_texts: dict[str, dict[str, int]] = {}
        self._calls: dict[str, list[str]] = {}
        self._newest_calls: dict[str, tuple[str, ...]] = {}
        self._seen_results: set[str] = set()
        self._writes: frozenset[str] = frozenset()
        self._evidence: set[str] = set()
        self.stalled: dict[str, float] = {"new_result": 0, "any_success": 0, "writes": 0}
        self.progress_sensed = False

    def append(self, iteration: Iteration) -> None:
        """Take in one completed iteration; everything else only reads."""
        self.length += 1
        self.now = iteration
        turn = iteration.turn
        self._turns.append(turn)
        self._add_totals(iteration)
        if turn.calls:
            self.calls += len(turn.calls)
            self.acting_turns += 1
            self.has_tools = True
            self._count_failures(turn)
            self.idle_turns = 0
        else:
            self.idle_turns = 1 if turn.user else self.idle_turns + 1
        evaluation = iteration.evaluation
        if evaluation.score is not None:
            self._score(evaluation.score)
        if evaluation.failed or evaluation.parsed is not None:
            self._count_evaluator(evaluation)
        self._progress(iteration)
        self._trails.push(turn)
        for tally in self._tallies.values():
            tally.push(turn)
        for on, texts in self._texts.items():
            if (text := text_of(turn, on)) is not None:
                self._note_text(on, texts, text)
        for identity in self._calls:
            self._note_calls(identity, turn)

    def _add_totals(self, iteration: Iteration) -> None:
        self.elapsed_ms += iteration.turn.known_ms
        self.elapsed_known = self.elapsed_known and iteration.ms is not None
        for position, reply in enumerate(iteration.replies):
            if position:
                self.elapsed_ms += reply.ms or 0
            usage = reply.usage
            if usage is None:
                self.tokens_known = False
            else:
                output = usage.output + usage.reasoning
                uncached = usage.input + usage.cache_write + output
                self.tokens_output += output
                self.tokens_uncached += uncached
                self.tokens_total += uncached + usage.cache_read
            if reply.cost is None:
                self.cost_known = False
            else:
                self.cost_pico_usd += reply.cost

    def _count_evaluator(self, evaluation: Evaluation) -> None:
        self.evaluator_asked = True
        if evaluation.failed:
            self.unreachable += 1
            return
        self.unreachable = 0
        self.unparsed = 0 if evaluation.parsed else self.unparsed + 1

    @property
    def outage_nearby(self) -> bool:
        """Whether calls failed for passing reasons in one of the last two turns."""
        return any(turn.transient for turn in self._turns[-2:])

    def trail(self, on: str, identity: str = DEFAULT_IDENTITY, since: str = "start") -> Trail:
        """Fingerprints in order, with the runs and laps at their end.

        Args:
            on: What is followed: ``score direction`` or a key of the tables in ``trails``.
            identity: When two calls are the same.
            since: How far back: to the ``start``, to where a ``person`` last spoke (scores aside),
                or only this ``turn``.
        """
        if on == "score direction":
            return self._trails.directions(self.gains)
        return self._trails.find(self._turns, on, identity, since)

    def moved(self, on: str) -> bool:
        """Whether the newest turn could add to the trail of ``on``; see ``moves_on``."""
        return moves_on(on, self.now.turn)

    def tally(self, kind: type[T], *settings: str) -> T:
        """A tally over all turns so far, kept up to date once it has been asked for."""
        found = self._tallies.get((kind, settings))
        if found is None:
            found = self._tallies[kind, settings] = kind(*settings)
            for turn in self._turns:
                found.push(turn)
        return cast("T", found)

    def texts(self, on: str) -> list[Text]:
        """The texts of ``on`` (feedback, output, plan, reply) so far, oldest first."""
        found = self._texts.get(on)
        if found is None:
            found = self._texts[on] = []
            self._seen_texts[on] = {}
            for turn in self._turns:
                if (text := text_of(turn, on)) is not None:
                    self._note_text(on, found, text)
        return found

    def occurrences(self, on: str, digest: str) -> int:
        """How often a text of ``on`` with this digest has occurred, the newest included."""
        self.texts(on)
        return self._seen_texts[on].get(digest, 0)

    def recent_calls(self, identity: str, window: int) -> list[str]:
        """The last ``window`` calls, oldest first; equal calls of one turn count once."""
        found = self._calls.get(identity)
        if found is None:
            found = self._calls[identity] = []
            for turn in self._turns:
                self._note_calls(identity, turn)
        return found[-window:]

    def newest_calls(self, identity: str) -> tuple[str, ...]:
        """The distinct calls of the last turn that made any, once ``recent_calls`` was asked."""
        return self._newest_calls.get(identity, ())

    def _note_calls(self, identity: str, turn: Turn) -> None:
        if prints := turn.call_prints.get(identity):
            self._calls[identity].extend(prints)
            self._newest_calls[identity] = prints

    def _note_text(self, on: str, texts: list[Text], text: Text) -> None:
        texts.append(text)
        seen = self._seen_texts[on]
        seen[text.digest] = seen.get(text.digest, 0) + 1

    def _score(self, score: float) -> None:
        best = self.best_score
        if self.scores and best is not None:
            # Rounded: 0.16 - 0.14 is 0.02 and not 0.01999...; + 0.0 makes -0.0 a plain zero.
            self.gains.append(round(self.sign * (score - self.scores[-1]), 9) + 0.0)
            self.gains_over_best.append(round(self.sign * (score - best), 9) + 0.0)
            self._trails.push_gain(self.gains[-1])
        self.scores.append(score)
        if best is None or self.gains_over_best[-1] > 0:
            self.best_score = score
            self.best_iteration = self.length
            self.since_best = 0
        else:
            self.since_best += 1

    def _count_failures(self, turn: Turn) -> None:
        self.transient_turns = self.transient_turns + 1 if turn.transient else 0
        if turn.transient or turn.waiting:
            return
        if "error" in turn.unseen and not any(call.ok for call in turn.calls):
            self._error_runs, self.error_turns, self.transient_turns = {}, UNKNOWN, UNKNOWN
            return
        # A run for each signature: a, then a and b, then b are no three turns with one error.
        runs = self._error_runs
        self._error_runs = {error: runs.get(error, 0) + 1 for error in turn.errors}
        self.error_turns = max(self._error_runs.values(), default=0)

    def _progress(self, iteration: Iteration) -> None:
        """Observable progress: the workspace alone where it is recorded, else any sensor."""
        turn, evaluation = iteration.turn, iteration.evaluation
        if turn.writes is not None:
            grown = bool(turn.writes - self._writes)
            self._writes = turn.writes
            if grown or not (turn.waiting or turn.transient):
                self._count_progress(grown, grown)
                self.stalled["writes"] = 0 if grown else self.stalled["writes"] + 1
            return
        new = any(result not in self._seen_results for result in turn.results)
        self._seen_results.update(turn.results)
        judged = evaluation.progress in ("some", "major")
        if evaluation.evidence:
            judged = judged or any(e not in self._evidence for e in evaluation.evidence)
            self._evidence.update(evaluation.evidence)
        sensed = self.has_tools or evaluation.progress is not None or evaluation.evidence
        hidden = bool(turn.unseen) and any(map(_hidden, turn.calls))
        if sensed and (new or judged or not (turn.waiting or turn.transient)):
            self._count_progress(new or judged, bool(turn.results) or hidden or judged)
            if hidden and not (new or judged):
                self.stalled["new_result"] = UNKNOWN

    def _count_progress(self, new: bool, succeeded: bool) -> None:
        self.progress_sensed = True
        stalled = self.stalled
        stalled["new_result"] = 0 if new else stalled["new_result"] + 1
        stalled["any_success"] = 0 if succeeded else stalled["any_success"] + 1


def _hidden(call: Call) -> bool:
    """Whether a call succeeded and nobody knows whether its result is new."""
    return call.ok and not call.waits and DEFAULT_IDENTITY not in call.prints
