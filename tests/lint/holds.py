"""Presets in which a rule must stay silent; see ``tests.lint.test_rules``."""

from __future__ import annotations

HOLDS: dict[str, dict[str, str]] = {
    "never-fires": {
        "equal texts only": "repetition = 1",
        "as much as the window holds": "recurrence = { threshold = 8, window = 8 }",
        "calls within one turn": 'spin = { threshold = 3, on = "call", since = "turn" }',
        "a fall only": "stagnation = { min_delta = 0 }",
        "an infinite budget in observe mode": "observe: token_budget = inf",
    },
    "always-fires": {
        "no revision": "max_rounds = 0",
        "the first failure": "repeated_error = 1",
        "a ladder whose first step is later": 'spin = { threshold = 1, on_fire = { 3 = "stop" } }',
        "observed only": 'spin = { threshold = 1, on_fire = "observe" }',
        "a score of zero, where lower is better": "quality = 0",
    },
    "cut-off": {
        "one iteration to spare": "max_rounds = 3\nstagnation = { window = 2 }",
        "a success goes before the limit": "max_rounds = 3\nquality = { confirmations = 4 }",
        "observe mode": "observe: max_rounds = 3\nspin = 9",
        "calls, several in a turn": 'max_rounds = 1\nspin = { threshold = 9, on = "call" }',
        "only acting iterations count": (
            'max_iterations = { threshold = 3, counts = "acting" }\nmonologue = 5'
        ),
        "a limit that warns": 'max_rounds = { threshold = 3, on_fire = "warn" }\nspin = 9',
        "a stop behind a pause": "max_iterations = 5\nmax_rounds = 9",
        "observed only": 'max_rounds = 3\nspin = { threshold = 9, on_fire = "observe" }',
    },
    "dominated": {
        "it warns first": 'spin = 5\nsoon = { kind = "spin", threshold = 3, on_fire = "warn" }',
        "a pause can be answered": (
            'spin = { threshold = 3, on_fire = "pause" }\nlast = { kind = "spin", threshold = 5 }'
        ),
        "another identity": (
            'spin = { threshold = 3, identity = "args+result" }\n'
            'loose = { kind = "spin", threshold = 5, identity = "args" }'
        ),
        "neither identity is finer": (
            'spin = { threshold = 3, identity = "result" }\n'
            'other = { kind = "spin", threshold = 5, identity = "args" }'
        ),
        "a coarser cycle may be a run": (
            'cycle = { threshold = 3, identity = "action" }\n'
            'exact = { kind = "cycle", threshold = 3, identity = "args+result" }'
        ),
        "patience beside stagnation against the previous score": (
            "stagnation = { window = 2 }\npatience = 3"
        ),
        "which quality is wider depends on the direction": (
            'quality = 0.8\nbetter = { kind = "quality", threshold = 0.9 }'
        ),
        "parts that only record": (
            'spin = { on_fire = "observe" }\nmonologue = { threshold = 4, on_fire = "observe" }\n'
            'both = { kind = "all_of", guards = ["spin", "monologue"] }'
        ),
        "iterations before rounds": "max_rounds = 8\nmax_iterations = 5",
        "observe mode": 'observe: spin = 3\nagain = { kind = "spin", threshold = 5 }',
    },
    "warn-after-stop": {
        "a pause can be answered": 'spin = { on_fire = { 3 = "pause", 5 = "stop" } }',
        "warn, then stop": 'spin = { on_fire = ["warn", "stop"] }',
    },
    "step-never-taken": {
        "from the threshold on": 'spin = { threshold = 2, on_fire = { 2 = "nudge", 5 = "stop" } }',
        "the first level above the threshold": (
            'spin = { threshold = 2, on_fire = { 3 = "nudge", 5 = "stop" } }'
        ),
        "one level below the threshold": 'spin = { threshold = 3, on_fire = { 2 = "stop" } }',
    },
    "no-hard-limit": {
        "time": "max_iterations = false\ntime_budget = { limit_s = 60 }",
        "acting iterations": 'max_iterations = { threshold = 9, counts = "acting" }',
        "in the end": 'max_rounds = { threshold = 3, on_fire = ["warn", "stop"] }',
        "one of two": (
            'max_iterations = { threshold = 9, on_fire = "observe" }\ntime_budget = { on_fire = '
            '"observe" }\nend = { kind = "any_of", guards = ["max_iterations", "time_budget"] }'
        ),
        "observe mode": "observe: max_iterations = false",
    },
    "many-rounds": {
        "ten": "max_rounds = 10",
        "observed only": 'max_rounds = { threshold = 20, on_fire = "observe" }\ntime_budget = {}',
        "observe mode": "observe: max_rounds = 20",
    },
    "off-scale": {"all of it": "quality = 1\nregression = 1\nstagnation = { min_delta = 1 }"},
    "contradiction": {
        "as usual": "quality = 0.85\nregression = 0.3\n[mechanisms]\ncontinuity = true",
        "where lower is better": "quality = 0.1\nregression = 0.2",
        "quality is confirmed": "quality = { confirmations = 2 }\nregression = 0.9",
    },
    "unread-setting": {
        "both models are asked": (
            '[mechanisms]\njudge = true\nreflection = true\n[models]\nfast = "a"\nquality = "b"'
        ),
        "continuity asks the fast one": '[mechanisms]\ncontinuity = true\n[models]\nfast = "a"',
        "a judge": "parse_failures = 3\n[mechanisms]\njudge = true",
        "an identity of calls": 'spin = { on = "call", identity = "args" }',
        "an identity that nobody wrote": 'spin = { on = "text" }',
        "a limit to raise at": '[settings]\non_limit = "raise"\nescalate_below = 0.4',
        "a log": "[mechanisms]\njudge = true\nwork_order = true\nfeedback_log = 9",
    },
    "budget-below-one-call": {
        "enough for some": "token_budget = 250",
        "nobody measured it": "cost_budget = { limit_usd = 0.0001 }",
        "an iteration is what it allows": "max_iterations = 1",
        "an acting one": 'max_iterations = { threshold = 1, counts = "acting" }',
    },
    "fires-at-once": {
        "not everywhere": "quality = 0.5",
        "too few scenarios measure it": "tool_spin = 1",
        "observed only": 'quality = { threshold = 0.2, on_fire = "observe" }',
    },
    "shadows-bundled": {"another name": "spin = 3"},
}
