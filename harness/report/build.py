"""From a run to its report: which figures go into which section."""

from __future__ import annotations

from harness import figures
from harness.compare.baseline import of_run, side
from harness.compare.pairs import Comparison, compare
from harness.figures import Chosen
from harness.figures.cheapest import cheapest
from harness.report.blocks import Recorded, Report
from harness.report.facts import Facts, reference
from harness.report.looks import looks
from harness.report.sections import compared, ends, guards, method, parting, summary
from harness.report.tuned import tuned
from harness.report.versus import versus
from harness.store.database import Store
from harness.store.runs import chosen_run

#: Scenarios in the matrix, and episodes in the list.
MATRIX, LISTED = 40, 20


def report(store: Store, run_id: str | None = None, base: str | None = None) -> Report:
    """The report of one run.

    Args:
        store: Where the run is.
        run_id: The run; the newest where left out.
        base: What it is compared with: a baseline file, a run or a blessed name.

    Raises:
        HarnessError: No such run or base, or a run without episodes.
    """
    run = chosen_run(store, run_id)
    facts = gather(store, run)
    against: Comparison | None = None
    if base is not None:
        against = compare(side("BASE", base, store.path), of_run(store, run))
    sections = [summary(facts, against, base), ends(facts), compared(facts)]
    if against is not None and base is not None:
        sections.append(versus(against, base))
    sections += [
        parting(facts),
        guards(facts, *tuned(store, facts)),
        looks(store, facts),
        method(facts),
    ]
    return Report(("Guard report: run ", Recorded(run)), tuple(sections))


def gather(store: Store, run: str) -> Facts:
    """All figures of a run, each asked for once."""
    chosen = Chosen(runs=(run,))
    totals = figures.totals(store, chosen)
    base = reference(store.path, run, totals)
    return Facts(
        run=run,
        base=base,
        totals=totals,
        exits=figures.exits(store, chosen),
        lengths=figures.lengths(store, chosen),
        cheapest=cheapest(store, chosen),
        paired=figures.paired(store, chosen, base),
        roles=figures.roles(store, chosen),
        matrix=figures.matrix(store, chosen, limit=MATRIX, only_differing=True),
        differing=figures.differing(store, chosen),
        guards=figures.guards(store, chosen),
        decided=figures.decided(store, chosen),
        weighty=figures.episodes(store, chosen, limit=LISTED, least_weight=2),
        data=figures.data(store).query("run_id == @run"),
    )
