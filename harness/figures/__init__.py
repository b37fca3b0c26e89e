"""Every number that dashboard and report show, as pandas frames, from the store's views.

Each function opens the store for as long as its query takes and reads only. Filters are a
``Chosen``; money is in USD, times are in ms, NULL is unknown.
"""

from harness.figures.behaviour import decided, guards, lengths, mechanisms, roles
from harness.figures.chosen import Chosen, choices
from harness.figures.one import episode
from harness.figures.overview import differing, exits, matrix, totals, trend
from harness.figures.paired import mean_interval, paired
from harness.figures.tables import ORDERS, count, data, episodes, lessons, runs

__all__ = [
    "ORDERS",
    "Chosen",
    "choices",
    "count",
    "data",
    "decided",
    "differing",
    "episode",
    "episodes",
    "exits",
    "guards",
    "lengths",
    "lessons",
    "matrix",
    "mean_interval",
    "mechanisms",
    "paired",
    "roles",
    "runs",
    "totals",
    "trend",
]
