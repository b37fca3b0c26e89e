"""One episode, iteration by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import PresetError, StoreError
from harness.guards import guard_class
from harness.store.database import Store
from harness.store.queries import query

if TYPE_CHECKING:
    import pandas as pd

#: Recorded texts are cut after so many characters; ``length`` says how long they are.
MOST = 20_000
#: By name: whether recorded texts are in it.
_PARTS = {
    "head": True, "iterations": False, "signals": False, "roles": False, "conditions": False,
    "calls": True, "events": True, "checks": True, "texts": True, "spans": False,
}  # fmt: skip


def episode(store: Store, episode_id: str, *, most: int = MOST) -> dict[str, pd.DataFrame]:
    """Everything stored of one episode, as small frames.

    Args:
        store: Where it is.
        episode_id: The whole id.
        most: Longest recorded text, in characters; the rest is cut.

    Returns:
        By name:

        - head: one row: the columns of ``episodes``, cost_usd, tokens, created_ms, the scenario's
          title, goal, direction, source, tags, truth, recorded and limits, and agreement.
        - iterations: iteration, phase, branch, step, decision, path, exit_reason, score,
          score_source, best_score, tokens, cost_usd, ms, elapsed_ms, overlap.
        - signals: guard, kind, iteration, signal, threshold, comparison, margin (in the signal's
          unit, 0 or more fires but for strict ``<``; NULL without a threshold), fired, unknown,
          on_fire, settings, shown, at (signal and threshold in words, with units).
        - roles: iteration, role, calls, tokens, cost_usd, ms, model, unparsed, failed.
        - conditions: iteration, kind, name, reason, action, state, won.
        - calls: iteration, n, tool, args, result, result_length, ok, exit_code, ms, waits,
          transient, error.
        - events: iteration, mechanism, event, trigger, reason, result.
        - checks: iteration, phase, check_id, kind, passed, detail.
        - texts: iteration, kind (user, work order, plan, reply, output, feedback, nudge), text,
          length (characters, before it was cut).
        - spans: name, kind, start_ms, end_ms (from the episode's begin), depth, parent, span_id,
          status.

    Raises:
        StoreError: No such episode.
    """
    found = {}
    for name, cut in _PARTS.items():
        given: dict[str, str | int] = {"episode": episode_id, **({"most": most} if cut else {})}
        found[name] = store.frame(query(f"episode_{name}"), given)
        if name == "head" and found[name].empty:
            raise StoreError(
                f"store {store.path}: no episode {episode_id[:40]!r}; see: harness list episodes"
            )
    signals = found["signals"]
    for column, number in (("shown", "signal"), ("at", "threshold")):
        pairs = zip(signals["kind"], signals[number], strict=True)
        signals[column] = [reading(str(kind), value) for kind, value in pairs]
    return found


def reading(kind: str, value: float | None) -> str:
    """A signal or threshold as people read it; ``?`` where there is none."""
    if value is None or value != value:
        return "?"
    try:
        return guard_class(kind).shown(float(value))
    except PresetError:
        # The guard of somebody's package that is not installed here.
        return f"{value:.4g}"


def telling(signals: pd.DataFrame, winner: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Readings of the guards that have something to say, the one that ended the loop first.

    Args:
        signals: Of ``episode``.
        winner: The guard that ended it.

    Returns:
        Their readings, and the names of the others: nothing measured, or always the same number
        and never fired.
    """
    loud: list[tuple[str, pd.DataFrame]] = []
    silent: list[tuple[str, pd.DataFrame]] = []
    for name, own in signals.groupby("guard", sort=False):
        known = own["signal"].dropna()
        moves = known.nunique() > 1 or bool(own["fired"].any()) or name == winner
        (loud if moves else silent).append((str(name), own))
    loud.sort(key=lambda one: (one[0] != winner, not bool(one[1]["fired"].any())))
    ours = signals.iloc[:0]
    if loud:
        import pandas as pd

        ours = pd.concat([own for _, own in loud], ignore_index=True)
    return ours, [name for name, _ in silent]
