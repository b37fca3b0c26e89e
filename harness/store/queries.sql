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

-- name: find_episode
SELECT e.*, r.created_ms
FROM episodes e JOIN runs r USING (run_id)
WHERE (starts_with(e.episode_id, $wanted) OR e.scenario = $wanted)
  AND ($preset IS NULL OR e.preset = $preset)
  AND ($run IS NULL OR e.run_id = $run)
ORDER BY r.created_ms DESC, r.run_id DESC, e.preset, e.repetition;

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
