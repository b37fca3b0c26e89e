# ruff: noqa: ISC004 - the tables read best so
"""Presets in which a rule finds something; see ``tests.lint.test_rules``."""

from __future__ import annotations

#: By rule and name: the preset, severity and key of the finding, and words of its message.
FIRES: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "never-fires": {
        "a similarity above 1": (
            "repetition = 1.2", "error", "guards.repetition.threshold", "never exceeds 1",
        ),
        "more than the window holds": (
            "recurrence = { threshold = 9, window = 8 }", "error", "guards.recurrence.threshold",
            "never exceeds 8",
        ),
        "below the lowest overlap": (
            "goal_overlap = 0\n[mechanisms]\ncontinuity = true", "error",
            "guards.goal_overlap.threshold", "never below 0",
        ),
        "a change below nothing": (
            'stagnation = { min_delta = 0, counts = "change" }', "error",
            "guards.stagnation.threshold", "never below 0",
        ),
        "two turns in one": (
            'spin = { threshold = 3, since = "turn" }', "error", "guards.spin.threshold",
            "never exceeds 1",
        ),
        "a combination of one that cannot": (
            'repetition = 1.2\nspin = 3\nboth = { kind = "all_of", guards = ["spin", '
            '"repetition"] }', "error", "guards.both.threshold", "what it names cannot",
        ),
        "an infinite budget only records": (
            "cost_budget = { limit_usd = inf }", "note", "guards.cost_budget.threshold",
            "only records",
        ),
    },
    "always-fires": {
        "one is no repeat": ("spin = 1", "error", "guards.spin.threshold", "spin = false"),
        "zero is not off": ("monologue = 0", "error", "guards.monologue.threshold", ">= 0"),
        "no patience": ("patience = 0", "error", "guards.patience.threshold", "at least 0"),
    },
    "cut-off": {
        "a window beyond the rounds": (
            "max_rounds = 3\nstagnation = { window = 5 }", "error", "guards.stagnation.window",
            "stagnation needs 6 iterations (window 5), max_rounds ends the loop after 4",
        ),
        "in the last iteration the limit goes first": (
            "max_rounds = 3\npatience = 3", "error", "guards.patience.threshold",
            "needs 4 iterations, max_rounds ends the loop after 4",
        ),
        "confirmations": (
            "max_rounds = 3\nquality = { confirmations = 5 }", "error",
            "guards.quality.confirmations", "confirmations 5",
        ),
        "a limit that pauses": (
            "max_iterations = 6\nno_progress = { threshold = 9, on_fire = 'stop' }", "warning",
            "guards.no_progress.threshold", "max_iterations pauses the loop after 6",
        ),
        "more firings than iterations": (
            "max_rounds = 4\nspin = { threshold = 3, on_fire = ['nudge', 'nudge', 'stop'] }",
            "warning", "guards.spin.on_fire", "spin: step 3 (stop) needs 5 iterations",
        ),
        "the last step of a guard's own ladder": (
            "max_rounds = 4\nno_progress = {}", "note", "guards.no_progress.on_fire",
            "stop at 6 needs 6 iterations",
        ),
        "a combination": (
            'max_rounds = 3\nspin = { threshold = 5, on_fire = "observe" }\n'
            'patience = { threshold = 1, on_fire = "observe" }\n'
            'both = { kind = "all_of", guards = ["spin", "patience"] }', "error",
            "guards.both.threshold", "both needs 5 iterations",
        ),
        "spin layers": (
            "max_rounds = 3\n[mechanisms]\nspin_layers = { run = 3, max_warnings = 3 }",
            "warning", "mechanisms.spin_layers", "needs 5 iterations to stop",
        ),
        "a limit put together": (
            'max_rounds = { threshold = 3, on_fire = "observe" }\ntime_budget = { on_fire = '
            '"observe" }\nend = { kind = "any_of", guards = ["max_rounds", "time_budget"] }\n'
            "spin = 5", "error", "guards.spin.threshold", "end ends the loop after 4",
        ),
    },
    "dominated": {
        "the same with a higher threshold": (
            'spin = 3\nagain = { kind = "spin", threshold = 5 }', "warning",
            "guards.again.threshold", "again (>= 5) never decides: spin (>= 3)",
        ),
        "a finer identity": (
            'spin = { threshold = 3, identity = "args" }\n'
            'exact = { kind = "spin", threshold = 3, identity = "args+result" }', "warning",
            "guards.exact.threshold", "spin (>= 3)",
        ),
        "iterations behind rounds": (
            "max_rounds = 5\nmax_iterations = 20", "warning", "guards.max_iterations.threshold",
            "max_rounds (>= 5)",
        ),
        "patience behind stagnation": (
            'stagnation = { window = 2, against = "best" }\npatience = 3', "warning",
            "guards.patience.threshold", "stagnation (< 0.02)",
        ),
        "a part that stops by itself": (
            'token_budget = 1000\nunder_way = { kind = "max_iterations", threshold = 10, on_fire = '
            '"observe" }\nlong = { kind = "all_of", guards = ["token_budget", "under_way"] }',
            "warning", "guards.long.threshold", "token_budget (>= 1000)",
        ),
        "parts that all stop by themselves": (
            'spin = 3\nmonologue = 4\neither = { kind = "any_of", guards = ["spin", "monologue"] '
            "}", "warning", "guards.either.threshold", "spin (>= 3)",
        ),
        "the last step of a ladder": (
            'spin = 4\nsoft = { kind = "spin", threshold = 2, on_fire = { 2 = "nudge", 6 = "stop"'
            " } }", "warning", "guards.soft.on_fire", "soft: stop at 6",
        ),
        "a part of the tokens": (
            'token_budget = 9000\nout = { kind = "token_budget", threshold = 9000, measure = '
            '"output" }', "warning", "guards.out.threshold", "token_budget",
        ),
    },
    "warn-after-stop": {
        "by level": (
            'spin = { on_fire = { 3 = "stop", 5 = "warn" } }', "error", "guards.spin.on_fire",
            "warn at 5 is never taken, because stop at 3",
        ),
        "by firing": (
            'spin = { on_fire = ["stop", "warn"] }', "error", "guards.spin.on_fire",
            "step 2 (warn) is never taken",
        ),
    },
    "step-never-taken": {
        "below the threshold": (
            'spin = { threshold = 5, on_fire = { 2 = "nudge", 5 = "stop" } }', "warning",
            "guards.spin.on_fire", "nudge at 2 is never taken",
        ),
        "beyond the signal": (
            'repetition = { threshold = 0.8, on_fire = { "0.8" = "warn", "1.5" = "stop" } }',
            "warning", "guards.repetition.on_fire", "stop at 1.5",
        ),
        "above a threshold from above": (
            'stagnation = { min_delta = 0.02, on_fire = { 0 = "stop", "0.02" = "warn" } }',
            "warning", "guards.stagnation.on_fire", "fires only below 0.02",
        ),
    },
    "no-hard-limit": {
        "only stuck guards": ("max_iterations = false\nspin = 3", "error", "guards", "max_rounds"),
        "a limit that only warns": (
            'max_iterations = { threshold = 9, on_fire = "warn" }', "error", "guards", "add",
        ),
        "an infinite budget": (
            "max_iterations = false\ntoken_budget = inf", "error", "guards", "add",
        ),
    },
    "many-rounds": {
        "eleven": ("max_rounds = 11", "warning", "guards.max_rounds.threshold", "11 revisions"),
    },
    "off-scale": {
        "a percentage": ("quality = 85", "warning", "guards.quality.threshold", "0 and 1"),
        "points": ("regression = 2", "warning", "guards.regression.threshold", "score_scale"),
    },
    "contradiction": {
        "new above same": (
            "[mechanisms]\ncontinuity = { new_below = 0.5 }", "warning",
            "mechanisms.continuity.new_below", "lies above same_above 0.24",
        ),
        "at least more than at most": (
            "[mechanisms]\nperception = { min_interval_s = 400 }", "warning",
            "mechanisms.perception.min_interval_s", "never kept",
        ),
        "a fall deeper than quality allows": (
            "quality = 0.85\nregression = 0.9", "warning", "guards.regression.threshold",
            "quality 0.85",
        ),
    },
    "unread-setting": {
        "a model nobody asks": (
            '[mechanisms]\njudge = { model = "quality" }\n[models]\nfast = "m"', "warning",
            "models.fast", "class fast",
        ),
        "no evaluator": (
            "parse_failures = 3", "warning", "guards.parse_failures.threshold", "judge is off",
        ),
        "no evaluator either": (
            "evaluator_errors = 3", "warning", "guards.evaluator_errors.threshold", "judge is off",
        ),
        "no continuity": (
            "goal_overlap = {}", "warning", "guards.goal_overlap.threshold", "continuity is off",
        ),
        "an identity of texts": (
            'spin = { on = "text", identity = "args" }', "warning", "guards.spin.identity",
            "identity is not read where on is 'text'",
        ),
        "a log without a reader": (
            "[mechanisms]\njudge = true\nfeedback_log = 9", "warning", "mechanisms.feedback_log",
            "a work order to show them",
        ),
        "gates off beside a judge": (
            "[mechanisms]\njudge = true\ngates = false", "warning", "mechanisms.gates", "judge",
        ),
        "no limit to raise at": (
            'max_iterations = false\nspin = 3\n[settings]\non_limit = "raise"', "warning",
            "settings.on_limit", "on a limit",
        ),
        "nothing but successes": (
            "max_iterations = false\nquality = 0.9\n[settings]\nescalate_below = 0.5", "warning",
            "settings.escalate_below", "nothing ends the loop but a success",
        ),
    },
    "budget-below-one-call": {
        "tokens": (
            "token_budget = 50", "warning", "guards.token_budget.threshold",
            "first iteration of all 4 scenarios",
        ),
    },
    "fires-at-once": {
        "a low bar": (
            "quality = 0.2", "warning", "guards.quality.threshold", "of all 4 scenarios",
        ),
    },
    "shadows-bundled": {"balanced": ("balanced: spin = 3", "note", "", "named balanced")},
}  # fmt: skip
