"""A large store, made by SQL: 200,000 episodes of ten iterations."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from harness.preset import guard_data, load_preset
from harness.store.database import Store

PRESETS = ("balanced", "cost", "engine", "fast", "observe", "reflection", "strict")
_PRESET = f"({list(PRESETS)})[1 + (n % 7)::INTEGER]"
_REASONS = (
    "['quality_reached','stagnation','max_rounds','spin','awaiting_user','recording_exhausted',"
    "'completed','no_progress','cost_budget','agent_finished']"
)
_GROUPS = (
    "['success','stuck','limit','stuck','paused','undecided','success','stuck','limit','undecided']"
)
_GUARDS = (
    "['max_rounds','quality','stagnation','repetition','spin','cycle','token_budget','no_progress']"
)


def _settings() -> list[str]:
    """Structural settings of the guards, as an observed run stores them."""
    guards = load_preset("observe").guards
    found = []
    for name in ast.literal_eval(_GUARDS):
        data = guard_data(guards[name])
        kept = {k: v for k, v in data.items() if k not in ("kind", "threshold", "on_fire")}
        found.append(json.dumps(kept, sort_keys=True))
    return found


def make_large(path: Path, episodes: int = 200_000) -> Store:
    """A store of one run; each seventh episode is of a new scenario, each second has a truth."""
    store = Store(path)
    store.create()
    store.execute("INSERT INTO runs VALUES ('large', 1000, '0', 'complete', '{}')")
    for number, name in enumerate(PRESETS):
        data = json.dumps(load_preset(name).as_data()).replace("Infinity", '"Infinity"')
        store.execute("INSERT INTO presets VALUES (?, ?, '', ?)", [f"hash{number}", name, data])
    store.execute(
        "INSERT INTO scenarios SELECT 'content' || n, 'family' || (n % 20) || '/case-' || n, "
        "'family' || (n % 20), 'Case', NULL, 'Goal', 'higher', ['tag' || (n % 9)], 10, "
        """CASE WHEN n % 2 = 0 THEN '{"verdict":"stop","reasons":["stagnation","spin"],"by":6,"""
        """"not_before":3,"why":"So."}' END, '{}', '{}' """
        f"FROM range({episodes // 7 + 1}) t(n)"
    )
    store.execute(
        "INSERT INTO episodes BY NAME SELECT 'large' AS run_id, format('{:016x}', n) AS "
        "episode_id, 'pair' || n AS pair_key, "
        "'family' || (n // 7 % 20) || '/case-' || (n // 7) AS scenario, "
        f"{_PRESET} AS preset, 'family' || (n // 7 % 20) AS family, 'gpt-4o-mini' AS model, "
        "0 AS repetition, n % 7 = 4 AS observe, 'stopped' AS status, "
        f"({_REASONS})[1 + (hash(n) % 10)::INTEGER] AS exit_reason, "
        f"({_GROUPS})[1 + (hash(n) % 10)::INTEGER] AS exit_group, "
        f"({_GUARDS})[1 + (hash(n) % 8)::INTEGER] AS exit_guard, 'explicit' AS exit_reason_source, "
        "'It stopped.' AS message, "
        # What only observes runs to the end.
        "CASE WHEN n % 7 = 4 THEN 10 ELSE 1 + (hash(n + 1) % 10)::INTEGER END AS exit_iteration, "
        "(hash(n + 1) % 10)::INTEGER AS rounds, (hash(n + 2) % 1000) / 1000 AS best_score, "
        "1 AS best_iteration, 0.5 AS final_score, [0.1, 0.5] AS score_history, "
        "(1000 + hash(n) % 999)::BIGINT AS input_uncached, 0 AS cache_read, 0 AS cache_write, "
        "200 AS output, 0 AS reasoning, "
        "CASE WHEN n % 11 > 0 THEN (hash(n) % 4000000000)::BIGINT END AS cost_pico_usd, "
        "9000 AS elapsed_ms, 3 AS calls, n % 13 = 0 AS needs_human, "
        "CASE WHEN n % 5 = 0 THEN 'censored' ELSE 'exact' END AS replay, 0 AS unrecorded_calls, "
        "0 AS drifted_calls, (n % 4)::INTEGER AS unknown_verdicts, 'trace' AS trace_id, "
        "'content' || (n // 7) AS content_hash, 'hash' || (n % 7) AS preset_hash, "
        "0 AS warnings, false AS prompt_assumed, 'So it ended.' AS summary "
        f"FROM range({episodes}) t(n)"
    )
    store.execute(
        "INSERT INTO iterations BY NAME SELECT run_id, episode_id, i::INTEGER AS iteration, "
        "'' AS branch, i::INTEGER AS step, 'continue' AS decision, 10 AS path, 0.5 AS score, "
        "0.5 AS best_score, '[]' AS conditions, 100 AS input_uncached, 0 AS cache_read, "
        "0 AS cache_write, 20 AS output, 0 AS reasoning, 1000 AS cost_pico_usd, 900 AS ms, "
        "900 * i AS elapsed_ms, hash(episode_id) + i AS reply_hash, episode_id AS span_id "
        "FROM episodes, range(1, 11) t(i)"
    )
    store.execute(
        "INSERT INTO guard_series BY NAME SELECT run_id, episode_id, guard, guard AS kind, "
        "settings, 5 AS threshold, '>=' AS comparison, 'stop' AS on_fire, "
        "[1, 2, 3, 4, 5, NULL, 7, 8, 9, g]::DOUBLE[] AS signals, "
        "[false, false, false, false, g > 3, false, g > 5, false, false, false] AS fired, "
        "[false, g = 2, false, false, false, true, false, false, false, false] AS unknown "
        f"FROM episodes, (SELECT unnest({_GUARDS}) AS guard, unnest(range(1, 9)) AS g, "
        f"unnest($settings) AS settings)",
        {"settings": _settings()},
    )
    store.execute(
        "INSERT INTO llm_calls BY NAME SELECT run_id, episode_id, iteration, 0 AS n, "
        "(['actor','actor','judge','reflection'])[1 + (iteration % 4)] AS role, "
        "'gpt-4o-mini' AS model, input_uncached, cache_read, cache_write, output, reasoning, "
        "cost_pico_usd, ms FROM iterations"
    )
    store.execute(
        "INSERT INTO mechanism_events BY NAME SELECT run_id, episode_id, iteration, "
        "(['judge','triage'])[1 + (iteration % 2)] AS mechanism, "
        "(['run','hit'])[1 + (iteration % 2)] AS event FROM iterations"
    )
    return store
