-- Queries of the command line, by name. Parameters are named; an empty list means all.

-- name: runs
SELECT r.run_id, r.created_ms, r.state, r.harness_version,
       count(e.episode_id) AS episodes,
       count(DISTINCT e.scenario) AS scenarios,
       list(DISTINCT e.preset ORDER BY e.preset) FILTER (WHERE e.preset IS NOT NULL) AS presets
FROM runs r LEFT JOIN episodes e USING (run_id)
GROUP BY r.run_id, r.created_ms, r.state, r.harness_version ORDER BY r.created_ms;

-- name: latest_run
SELECT run_id FROM runs ORDER BY created_ms DESC, run_id DESC LIMIT 1;

-- name: episodes
SELECT episode_id, run_id, scenario, preset, status, exit_reason, exit_group, exit_iteration,
       best_score, cost_pico_usd, needs_human, replay
FROM episodes
WHERE run_id = $run
  AND (len($presets) = 0 OR preset IN (SELECT unnest($presets)))
  AND (len($reasons) = 0 OR exit_reason IN (SELECT unnest($reasons)))
ORDER BY scenario, preset, repetition;

-- name: by_preset
SELECT preset, exit_reason, exit_group, count(*) AS episodes
FROM episodes WHERE run_id = $run
GROUP BY preset, exit_reason, exit_group ORDER BY preset, exit_reason;

-- name: totals_by_preset
SELECT preset,
       count(*) AS episodes,
       sum(exit_iteration) AS iterations,
       sum(input_uncached + cache_read + cache_write + output + reasoning)::BIGINT AS tokens,
       count(*) FILTER (WHERE input_uncached IS NULL) AS without_tokens,
       sum(cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE cost_pico_usd IS NULL) AS without_cost,
       avg(best_score) AS best_score,
       count(best_score) AS scored,
       count(*) FILTER (WHERE needs_human) AS needs_human,
       sum(unknown_verdicts)::BIGINT AS unknown_verdicts,
       count(*) FILTER (WHERE replay = 'censored') AS censored,
       count(*) FILTER (WHERE replay = 'diverged') AS diverged
FROM episodes WHERE run_id = $run
GROUP BY preset ORDER BY preset;

-- name: exits
WITH chosen AS (
    SELECT CASE $by WHEN 'preset' THEN e.preset WHEN 'family' THEN e.family
                    WHEN 'model' THEN coalesce(e.model, '(unknown)') ELSE e.run_id END AS key,
           e.*, r.created_ms
    FROM episodes e JOIN runs r USING (run_id)
    WHERE len($runs) = 0 OR e.run_id IN (SELECT unnest($runs))
)
SELECT key, min(created_ms) AS created_ms, exit_group, exit_reason,
       count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY key) AS share,
       median(rounds) AS median_rounds,
       avg(best_score) AS mean_best_score,
       median(input_uncached + cache_read + cache_write + output + reasoning) AS median_tokens,
       sum(cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE cost_pico_usd IS NULL) AS without_cost
FROM chosen
GROUP BY key, exit_group, exit_reason
ORDER BY min(min(created_ms)) OVER (PARTITION BY key), key, episodes DESC, exit_reason;

-- name: decided_by
SELECT count(*) FILTER (WHERE by_code) AS by_code,
       count(*) FILTER (WHERE by_model AND NOT coalesce(by_code, false)) AS by_model
FROM decided_by
WHERE len($runs) = 0 OR run_id IN (SELECT unnest($runs));

-- name: find_episode
SELECT e.*, r.created_ms
FROM episodes e JOIN runs r USING (run_id)
WHERE (starts_with(e.episode_id, $wanted) OR e.scenario = $wanted)
  AND ($preset IS NULL OR e.preset = $preset)
  AND ($run IS NULL OR e.run_id = $run)
ORDER BY r.created_ms DESC, r.run_id DESC, e.preset, e.repetition;

-- name: has_continuations
SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'continuations';

-- name: continuation
SELECT continued_at, cause, model FROM continuations WHERE episode_id = $episode;

-- name: iterations
SELECT i.*, m.text AS reply
FROM iterations i LEFT JOIN messages m ON m.hash = i.reply_hash
WHERE i.episode_id = $episode ORDER BY i.iteration;

-- name: series
SELECT guard, kind, settings, threshold, comparison, on_fire, signals, fired, unknown
FROM guard_series WHERE episode_id = $episode ORDER BY rowid;

-- name: calls
SELECT c.iteration, c.n, c.tool, a.text AS args, r.text AS result, c.ok, c.exit_code, c.ms,
       c.waits, c.transient
FROM calls c
LEFT JOIN messages a ON a.hash = c.args_hash LEFT JOIN messages r ON r.hash = c.result_hash
WHERE c.episode_id = $episode ORDER BY c.iteration, c.n;

-- name: agreement
SELECT a.preset,
       count(*) FILTER (WHERE NOT a.contestable) AS cases,
       count(*) FILTER (WHERE a.agreement = 'right' AND NOT a.contestable) AS right_verdicts,
       count(*) FILTER (WHERE a.agreement = 'false stop' AND NOT a.contestable) AS false_stops,
       count(*) FILTER (WHERE a.agreement = 'late' AND NOT a.contestable) AS late,
       count(*) FILTER (WHERE a.agreement = 'missed' AND NOT a.contestable) AS missed,
       count(*) FILTER (WHERE a.agreement = 'wrong reason' AND NOT a.contestable) AS wrong_reasons,
       count(*) FILTER (WHERE a.agreement = 'unknown' AND NOT a.contestable) AS unknown,
       count(*) FILTER (WHERE a.contestable) AS contestable,
       count(*) FILTER (WHERE a.contestable AND a.agreement = 'right') AS contestable_right,
       count(*) FILTER (WHERE a.warnings > 0) AS warned,
       sum(b.tokens_after_due)::BIGINT AS tokens_after_due,
       sum(b.cost_after_due)::BIGINT AS cost_after_due,
       sum(b.tokens_after_best)::BIGINT AS tokens_after_best,
       sum(b.cost_after_best)::BIGINT AS cost_after_best
FROM agreement a JOIN burnt b USING (run_id, episode_id)
WHERE a.run_id = $run
GROUP BY a.preset;

-- name: regret
SELECT preset, count(*) AS scored,
       avg(abs(best_possible - best_score)) AS mean_regret,
       count(*) FILTER (WHERE later_was_better) AS later_better
FROM later_better WHERE run_id = $run AND best_score IS NOT NULL
GROUP BY preset;

-- name: disagreements
SELECT episode_id, scenario, preset, agreement, truth, reasons, not_before, due_by, exit_reason,
       exit_iteration, contestable, why
FROM agreement
WHERE run_id = $run AND agreement <> 'right' AND (len($presets) = 0 OR preset IN (SELECT unnest($presets)))
ORDER BY preset, agreement, scenario;

-- name: health
SELECT preset, count(*) AS episodes,
       count(*) FILTER (WHERE exit_reason = 'quality_reached' AND rounds <= $within) AS quick,
       count(*) FILTER (WHERE exit_reason = 'stagnation') AS stagnated,
       count(*) FILTER (WHERE exit_group = 'limit') AS limited,
       count(*) FILTER (WHERE exit_group = 'undecided') AS undecided,
       count(*) FILTER (WHERE final_score IS NULL) AS unscored
FROM episodes
WHERE run_id = $run AND final_score IS NOT NULL AND (len($families) = 0 OR family IN (SELECT unnest($families)))
GROUP BY preset ORDER BY preset;

-- name: never_reached
SELECT e.preset, g.guard, any_value(g.comparison) AS comparison, any_value(g.threshold) AS threshold,
       max(list_max(g.signals)) AS highest, min(list_min(g.signals)) AS lowest
FROM guard_series g JOIN episodes e USING (run_id, episode_id)
WHERE run_id = $run AND NOT isinf(g.threshold)
GROUP BY e.preset, g.guard
HAVING NOT bool_or(list_bool_or(g.fired))
ORDER BY e.preset, g.guard;

-- name: events
SELECT iteration, mechanism, event, trigger, reason, result
FROM mechanism_events WHERE episode_id = $episode ORDER BY rowid;

-- name: checks
SELECT iteration, phase, check_id, kind, passed, detail
FROM checks WHERE episode_id = $episode ORDER BY rowid;

-- name: roles
SELECT role, model, count(*) AS calls,
       sum(input_uncached + cache_read + cache_write + output + reasoning)::BIGINT AS tokens,
       sum(cost_pico_usd)::BIGINT AS cost_pico_usd
FROM llm_calls WHERE episode_id = $episode GROUP BY role, model ORDER BY role;

-- name: endings
SELECT e.scenario, e.preset, e.repetition, e.exit_reason, e.exit_iteration AS iteration,
       e.best_score, e.cost_pico_usd, e.unknown_verdicts AS unknowns, a.agreement, e.replay,
       left(e.content_hash, 12) AS content, s.direction
FROM episodes e
LEFT JOIN agreement a USING (run_id, episode_id)
LEFT JOIN (SELECT DISTINCT content_hash, direction FROM scenarios) s
  ON s.content_hash = e.content_hash
WHERE e.run_id = $run;

-- name: has_baselines
SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'baselines';

-- name: baselines
SELECT name, run_id FROM baselines ORDER BY name;
