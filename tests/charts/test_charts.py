"""Charts of every kind: they draw, ask a question, hold hostile names, and colour is not alone."""

from __future__ import annotations

import json
import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import vl_convert

from harness import charts
from harness.charts.theme import ACCENT, GROUPS, ON_COLOUR
from harness.report.picture import svg

HOSTILE = "<script>alert(1)</script> \"'); [x](javascript:1) \u202e\x1b[31m " + "y" * 1_000_000
N = HOSTILE


def frame(**columns):
    return pd.DataFrame(columns)


EXITS = frame(
    preset=[N, N, "b"], exit_reason=["spin", N, "completed"],
    exit_group=["stuck", "odd", "success"], episodes=[3, 1, 4], share=[0.75, 0.25, 1.0],
)  # fmt: skip
TOTALS = frame(
    preset=[N, "b", "c"], episodes=[4, 4, 4], iterations=[9, 8, 7], tokens=[90.0, 80.0, np.nan],
    cost_usd=[0.02, 1.5, np.nan], cost_unknown=[0, 1, 4],
)  # fmt: skip
MATRIX = frame(
    scenario=[N, N], preset=[N, "b"], exit_reason=[N, "spin"], exit_group=["limit", "stuck"],
    iteration=[3, 4], best_score=[np.nan, 0.5], cost_usd=[np.nan, 0.1], differs=[True, True],
)  # fmt: skip
LENGTHS = frame(
    preset=[N, N, "b"], rounds=[0, 700, 3], exit_group=["stuck", "limit", "success"],
    episodes=[1, 1, 2], share=[0.5, 0.5, 1.0],
)  # fmt: skip
ITERATIONS = frame(
    iteration=[1, 2, 3], score=[0.1, np.nan, 0.3], best_score=[0.1, 0.1, 0.3], decision=[N] * 3
)
SIGNALS = frame(
    guard=[N, N, "quality", "quality"], kind=[N] * 4, iteration=[1, 2, 1, 2],
    signal=[np.nan, 5.0, 0.2, 0.9], threshold=[np.inf, np.inf, 0.85, 0.85],
    comparison=[">="] * 4, margin=[np.nan, np.nan, -0.65, 0.05],
    fired=[False, False, False, True], unknown=[True, False, False, False],
)  # fmt: skip
ROLES = frame(
    iteration=[1, 1, 2], role=["actor", N, "judge"], calls=[1, 1, 1], tokens=[9.0, np.nan, 1.0],
    cost_usd=[0.1, np.nan, 0.2],
)  # fmt: skip
BY_PRESET = ROLES.drop(columns="iteration").assign(preset=[N, "b", "b"], cost_usd=np.nan)
SPANS = frame(
    name=[f"chat {N}"] * 99, kind=["CLIENT"] * 99, start_ms=range(99), end_ms=range(1, 100),
    depth=[1] * 99, parent=[None] * 99, status=[N] * 99,
)  # fmt: skip
STEPS = frame(
    threshold=[0.1, 0.5], false_stops=[3, 1], cost_saved=[0.4, 0.1], lost=[0.2, 0.0], ended=[9, 2]
)
FRONT = frame(
    name=[N, "b"], effort=[1.0, 2.0], harm=[0.2, 0.1], front=[True, True], chosen=[True, False]
)
CURVES = frame(
    cause=["success", "agent_finished"], iteration=[2, 3], share=[0.5, 0.1], low=[0.3, 0.0],
    high=[0.7, 0.2],
)  # fmt: skip
WORTH = frame(measure=["saved", "lost"], guard=[N, N], alone=[3, 1], left_out=[1, 1], share=[2, 1])
ROC = frame(threshold=[0.1, 0.9], recall=[1.0, 0.4], false_alarms=[0.6, 0.0])

DRAWN = {
    "exit_bars": lambda t: charts.exit_bars(EXITS, t),
    "cost_bars": lambda t: charts.cost_bars(TOTALS, t),
    "matrix": lambda t: charts.matrix(MATRIX, t),
    "rounds": lambda t: charts.rounds(LENGTHS, t),
    "score_curve": lambda t: charts.score_curve(ITERATIONS, 3, t),
    "signal_panel": lambda t: charts.signal_panel(SIGNALS, t),
    "role_costs": lambda t: charts.role_costs(ROLES, t),
    "role_costs_by_preset": lambda t: charts.role_costs(BY_PRESET, t),
    "waterfall": lambda t: charts.waterfall(SPANS, t),
    "step_function": lambda t: charts.step_function(STEPS, 0.5, t, N),
    "pareto": lambda t: charts.pareto(FRONT, t),
    "incidence": lambda t: charts.incidence(CURVES, t),
    "attribution": lambda t: charts.attribution(WORTH, t),
    "roc": lambda t: charts.roc(ROC, t, words=N),
}
EMPTY = {
    "exit_bars": EXITS, "cost_bars": TOTALS, "matrix": MATRIX, "rounds": LENGTHS,
    "score_curve": ITERATIONS, "signal_panel": SIGNALS, "role_costs": ROLES, "waterfall": SPANS,
    "step_function": STEPS, "pareto": FRONT, "incidence": CURVES, "attribution": WORTH, "roc": ROC,
}  # fmt: skip


def questions(spec):
    found = spec.get("title")
    return found["text"] if isinstance(found, dict) else found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWN)
def test_every_chart_draws_and_asks(name, theme):
    made = DRAWN[name](theme)
    drawn = vl_convert.vegalite_to_svg(made.to_dict(), allowed_base_urls=[])
    assert questions(made.to_dict()).endswith("?")
    assert "NaN" not in re.sub(r">[^<]*<|\"[^\"]*NaN[^\"]*\"(?= role)", "", drawn)
    assert len(drawn) < 300_000


@pytest.mark.parametrize("name", DRAWN)
def test_hostile_names_stay_text(name):
    drawn = svg(DRAWN[name]("inherit"), "p", HOSTILE)
    root = ElementTree.fromstring(drawn)  # noqa: S314 - made here
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "text", "rect", "line", "circle", "defs", "clipPath",
                    "tspan"}  # fmt: skip
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [a for a in attributes if a.startswith("on") or a in ("href", "style")]
    for text in root.itertext():
        assert not re.search("[\x00-\x08\x1b\u202a-\u202e]", text)
        assert len(text) < 1_000


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_show_is_said(name):
    made = getattr(charts, name)(EMPTY[name].iloc[:0])
    assert "chart" in json.dumps(made.to_dict()) or made.to_dict()
    assert questions(made.to_dict()).endswith("?")


@pytest.mark.parametrize("name", ["matrix", "signal_panel", "incidence"])
def test_the_same_bytes_each_time(name):
    assert svg(DRAWN[name]("inherit"), "p", "t") == svg(DRAWN[name]("inherit"), "p", "t")


# -- colours -------------------------------------------------------------------------------------

#: Simulation of colour vision after Machado, Oliveira and Fernandes (2009), severity 1.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def linear(colour):
    value = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = (np.array(to_xyz) @ np.clip(rgb, 0, 1)) / [0.9505, 1, 1.089]
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_exit_groups_are_told_apart_with_any_colour_vision(vision):
    seen = {g: lab(np.array(VISION[vision]) @ linear(c)) for g, c in GROUPS.items()}
    near = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in combinations(seen, 2)}
    assert {pair: round(d, 1) for pair, d in near.items() if d < 12} == {}


@pytest.mark.parametrize("group", GROUPS)
def test_letters_can_be_read_on_a_group_and_the_group_on_the_page(group):
    assert contrast(ON_COLOUR, GROUPS[group]) > 4.5
    assert contrast("#15181c", GROUPS[group]) > 3
    assert contrast("#ffffff", GROUPS[group]) > 1.9


def test_lines_can_be_seen_on_both_pages():
    assert contrast("#ffffff", ACCENT) > 3
    assert contrast("#15181c", ACCENT) > 3
