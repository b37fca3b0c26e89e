"""What a study found, in words: verdict, warnings, and the comment above a written preset."""

from __future__ import annotations

from collections import Counter

from harness.prices import PICO_PER_USD
from harness.tune.repeated import Repeated
from harness.tune.study import Study
from harness.tune.totals import Row, Unit
from harness.tune.view import Judged, Pick

#: What effort is called.
UNITS: dict[Unit, str] = {"cost": "cost", "tokens": "tokens", "iterations": "iterations"}
#: So many kinds of recorded limits are named.
_LIMITS = 4


def amount(value: float | None, unit: Unit) -> str:
    """Effort of one episode, short."""
    if value is None or value != value:
        return "?"
    if unit == "cost":
        return f"${value / PICO_PER_USD:.3g}"
    return f"{value:,.0f}" if unit == "tokens" and value >= 100 else f"{value:.3g}"


def share(value: float | None) -> str:
    """A share in percent."""
    if value is None or value != value:
        return "?"
    percent = value * 100
    digits = 0 if percent >= 9.95 or percent == 0 else 1
    return f"{percent:.{digits}f}%" if percent == 0 or percent >= 0.05 else "<0.1%"


def harm_name(study: Study) -> str:
    """What the front sets against effort."""
    return "lost" if study.request.objective.minds_loss else "false stops"


def harm(study: Study, row: Row) -> str:
    """The same of one policy."""
    if study.request.objective.minds_loss:
        return "?" if row["lost"] is None else f"{row['lost']:.2g}"
    return share(row["false_rate"])


def per_episode(row: Row, what: str) -> float | None:
    """A sum as a mean over episodes."""
    return row[what] / row["episodes"] if row["episodes"] else None


def false_words(row: Row) -> str:
    """False stops of one side: count, rate, interval."""
    if not row["judged"]:
        return "no episode is judged"
    return (
        f"{row['false_stops']} of {row['judged']} judged ({share(row['false_rate'])}, 95 % "
        f"{share(row['false_low'])} to {share(row['false_high'])})"
    )


def about(study: Study) -> str:
    """What was read: episodes, tasks, how they end."""
    corpus = study.corpus
    ends = Counter(corpus.replay)
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(ends.items()))
    return (
        f"run {corpus.run_id}, observed under {corpus.preset}: {len(corpus):,} episodes of "
        f"{len(set(corpus.tasks)):,} tasks, {int(corpus.offsets[-1]):,} iterations; recordings end "
        f"{kinds}"
    )


def wanted(study: Study) -> str:
    """The objective, and what cost is counted in where that is not money."""
    words = study.request.objective.words
    return words if study.unit == "cost" else f"{words} (cost counted in {study.unit})"


def recorded_limits(study: Study) -> str | None:
    """What the real runs were limited by: nothing can be learnt beyond that."""
    found: Counter[str] = Counter()
    for one in study.corpus.recorded:
        for name, value in (one.get("limits") or {}).items():
            if value is not None:
                found[f"{name} {value:g}" if isinstance(value, int | float) else str(name)] += 1
    if not found:
        return None
    told = ", ".join(f"{name} ({n:,})" for name, n in found.most_common(_LIMITS))
    more = f" and {len(found) - _LIMITS} other limits" if len(found) > _LIMITS else ""
    return f"the real runs were limited by {told}{more}: what lies beyond was not recorded"


def notes(study: Study) -> list[str]:
    """Whatever weakens the figures, one line each."""
    found = []
    limits = recorded_limits(study)
    if limits:
        found.append(limits)
    for pick in (study.common, *study.groups):
        found += _censored(study, pick)
    copies = int(study.units.copies.sum())
    if copies:
        across = (
            f", {study.units.across} under another task's name (these tasks stay together)"
            if study.units.across
            else ""
        )
        found.append(f"{copies} episodes are copies of another one{across}")
    if study.left_out:
        found.append(
            f"{study.left_out} episodes are left out: some preset of the space would have to be "
            "replayed there (phases, answered pauses, a judge that was only observed)"
        )
    if study.unit != "cost":
        found.append(
            f"costs are unknown in part, so saving is counted in {study.unit} (HARNESS_PRICES "
            "adds prices)"
        )
    if len(study.candidates) < study.candidates.space.size:
        found.append(f"tried {study.candidates.told}")
    return [*found, *study.notes]


def _censored(study: Study, pick: Pick) -> list[str]:
    if pick.why_common is not None:
        return []
    row = pick.policies[0].held_out
    found = row["censored_share"]
    if found is None or found <= study.request.max_censored:
        return []
    where = f"{pick.group}: " if pick.group else ""
    words = (
        f"{where}{share(found)} of the held-out episodes end before the chosen preset decides "
        f"(censored; more than {share(study.request.max_censored)}): its thresholds lie where "
        "little was recorded"
    )
    return [words]


def verdict(study: Study) -> str:
    """Whether choosing beats counting steps, in words."""
    over = study.by_group or study.repeated
    words = "a preset for each group" if study.by_group else "the chosen preset"
    harm = "no more false stops"
    if study.request.objective.minds_loss:
        harm += " and no more quality lost"
    if 2 * over.wins <= over.chosen:
        return (
            "Nothing here beats counting steps: on held-out tasks the cheapest fixed step count "
            f"with {harm} costs as much or less in {over.chosen - over.wins} of "
            f"{over.chosen} splits. Take the step count."
        )
    return (
        f"On held-out tasks {words} is cheaper than every fixed step count with {harm} "
        f"in {over.wins} of {over.chosen} splits (median {share(over.saved_over_line)} "
        f"of its {UNITS[study.unit]})."
    )


def over_splits(over: Repeated, unit: Unit) -> str:
    """Medians over all splits, and how much choosing flatters itself."""
    missing = over.splits - over.chosen
    fewer = f" (in {missing} none was found)" if missing else ""
    effort = amount(over.median("held_out", "effort"), unit)
    false = share(over.median("held_out", "false_stops"))
    more = over.optimism("effort")
    return (
        f"{over.splits} splits{fewer}: held-out median {effort}, "
        f"{over.median('held_out', 'iterations'):.3f} iterations, false stops {false}; held-out "
        f"minus train, mean: {'-' if more < 0 else '+'}{amount(abs(more), unit)}, "
        f"{over.optimism('false_stops') * 100:+.2g} points of false stops; the same choice in "
        f"{over.same}"
    )


def gap(judged: Judged, unit: Unit) -> str:
    """Train against held-out of one policy, in words."""
    train, held = judged.train, judged.held_out
    return (
        f"train {amount(per_episode(train, 'effort'), unit)}, false stops "
        f"{share(train['false_rate'])}; held-out {amount(per_episode(held, 'effort'), unit)} (95 % "
        f"{amount(held['effort_low'], unit)} to {amount(held['effort_high'], unit)}), false stops "
        f"{false_words(held)}"
    )


def header(study: Study, pick: Pick) -> list[str]:
    """The evidence above a written preset: no dates, so that the same data write the same file."""
    over = study.repeated
    chosen, *others = pick.policies
    held = chosen.held_out
    unit = study.unit
    lines = [
        "Chosen by harness tune from recorded runs; figures hold for tasks like these.",
        about(study),
        f"Tried: {study.candidates.told}",
        f"Objective: {wanted(study)}",
    ]
    if pick.group:
        lines.append(f"Group ({study.request.by}): {pick.group}")
    if pick.why_common:
        lines.append(f"The common preset: {pick.why_common}")
    sides = (chosen.train, held)
    tasks, episodes = ([row[what] for row in sides] for what in ("tasks", "episodes"))
    success = f"success {held['success_low']} to {held['success_high']} of {held['episodes']}"
    replays = ", ".join(f"{held[kind]} {kind}" for kind in ("exact", "censored", "diverged"))
    iterations = _number(per_episode(held, "iterations"))
    judged = f"{tasks[1]} others ({episodes[1]} episodes)"
    lines += [
        f"Chosen on {tasks[0]} tasks ({episodes[0]} episodes), judged on {judged}",
        f"Chosen: {chosen.words}",
        f"  an episode: {gap(chosen, unit)}",
        f"  held-out: {iterations} iterations, {_number(held['lost'])} quality lost, {success}",
        f"  held-out replays: {replays}",
    ]
    lines += [
        f"Beside it, {other.role} ({other.words}): held-out "
        f"{amount(per_episode(other.held_out, 'effort'), unit)}, false stops "
        f"{share(other.held_out['false_rate'])}"
        for other in others
    ]
    lines += [over_splits(over, unit), verdict(study), *(f"Note: {note}" for note in notes(study))]
    return lines


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"
