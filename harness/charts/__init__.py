"""Pictures of figures, once for dashboard and report; the one importer of altair.

A chart takes a frame of ``harness.figures`` (or of tuning) and a theme, and asks a question in its
title. Colour never speaks alone: what it means is also written.
"""

from harness.charts.episode import role_costs, score_curve, signal_panel, waterfall
from harness.charts.overview import cost_bars, exit_bars, matrix, rounds
from harness.charts.theme import GROUPS, ROLES, Theme
from harness.charts.tuning import attribution, incidence, pareto, roc, step_function

__all__ = [
    "GROUPS",
    "ROLES",
    "Theme",
    "attribution",
    "cost_bars",
    "exit_bars",
    "incidence",
    "matrix",
    "pareto",
    "roc",
    "role_costs",
    "rounds",
    "score_curve",
    "signal_panel",
    "step_function",
    "waterfall",
]
