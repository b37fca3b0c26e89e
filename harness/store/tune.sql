-- What tuning reads: one run, one observed preset.

-- name: tune_presets
SELECT DISTINCT preset FROM episodes WHERE run_id = $run AND observe ORDER BY preset;

-- name: tune_episodes
SELECT e.episode_id, e.scenario, e.family, e.model, e.content_hash, e.preset_hash, e.exit_iteration,
       e.exit_reason, e.replay, e.outcome, s.goal, s.direction, s.tags, s.limits, s.recorded,
       EXISTS (FROM iterations i WHERE i.run_id = e.run_id AND i.episode_id = e.episode_id
               AND i.phase IS NOT NULL) AS phased,
       EXISTS (FROM iterations i WHERE i.run_id = e.run_id AND i.episode_id = e.episode_id
               AND i.iteration > 1 AND i.user_hash IS NOT NULL) AS answered,
       -- A judge that was only observed: acting, triage would have kept it from being asked.
       (SELECT min(m.iteration) FROM mechanism_events m
        WHERE m.run_id = e.run_id AND m.episode_id = e.episode_id
          AND m.mechanism = 'judge' AND m.event = 'observed') AS fork
FROM episodes e JOIN scenarios s USING (content_hash)
WHERE e.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0
ORDER BY e.scenario, e.episode_id;

-- name: tune_iterations
WITH calls AS (
    SELECT episode_id, iteration,
           sum(cost_pico_usd)::BIGINT AS cost,
           bool_or(cost_pico_usd IS NULL) AS unpriced,
           sum(cost_pico_usd) FILTER (role <> 'actor')::BIGINT AS role_cost,
           sum(input_uncached + cache_read + cache_write + output + reasoning)::BIGINT AS tokens,
           bool_or(input_uncached IS NULL) AS uncounted,
           sum(input_uncached + cache_read + cache_write + output + reasoning)
               FILTER (role <> 'actor')::BIGINT AS role_tokens
    FROM llm_calls WHERE run_id = $run GROUP BY ALL
)
SELECT c.cost, c.unpriced, c.role_cost, c.tokens, c.uncounted, c.role_tokens,
       i.elapsed_ms, i.score, i.best_score,
       lead(i.user_hash) OVER (PARTITION BY e.episode_id ORDER BY i.iteration) IS NOT NULL AS answers
FROM iterations i
JOIN episodes e USING (run_id, episode_id)
JOIN calls c ON c.episode_id = i.episode_id AND c.iteration = i.iteration
WHERE i.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0
ORDER BY e.scenario, e.episode_id, i.iteration;

-- name: tune_conditions
SELECT c.episode_id, c.iteration, c.kind, c.reason, c.action
FROM conditions c JOIN episodes e USING (run_id, episode_id)
ANTI JOIN guard_series g ON g.run_id = c.run_id AND g.episode_id = c.episode_id
                        AND g.guard = c.name AND g.kind = c.kind
WHERE c.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0 AND c.state = 'true'
ORDER BY c.episode_id, c.iteration;

-- name: tune_guards
SELECT g.episode_id, g.guard, g.kind, g.settings, g.signals
FROM guard_series g JOIN episodes e USING (run_id, episode_id)
WHERE g.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0
ORDER BY g.guard, e.scenario, e.episode_id;

-- name: tune_recordings
SELECT options FROM runs WHERE run_id = $run;

-- name: tune_readings
SELECT content_hash, any_value(signals) AS signals FROM readings
WHERE base = $base AND kind = $kind AND settings = $settings
GROUP BY content_hash ORDER BY content_hash;
