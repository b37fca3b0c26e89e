-- What tuning reads: one run, one observed preset.

-- name: tune_presets
SELECT DISTINCT preset FROM episodes WHERE run_id = $run AND observe ORDER BY preset;

-- name: tune_episodes
SELECT e.episode_id, e.scenario, e.family, e.model, e.content_hash, e.preset_hash, e.exit_iteration,
       e.exit_reason, e.replay, e.outcome, s.goal, s.direction, s.tags, s.limits, s.recorded,
       EXISTS (FROM iterations i WHERE i.run_id = e.run_id AND i.episode_id = e.episode_id
               AND i.phase IS NOT NULL) AS phased,
       EXISTS (FROM iterations i WHERE i.run_id = e.run_id AND i.episode_id = e.episode_id
               AND i.iteration > 1 AND i.user_hash IS NOT NULL) AS answered
FROM episodes e JOIN scenarios s USING (content_hash)
WHERE e.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0
ORDER BY e.scenario, e.episode_id;

-- name: tune_iterations
WITH roles AS (
    SELECT run_id, episode_id, iteration, sum(cost_pico_usd)::BIGINT AS cost,
           sum(input_uncached + cache_read + cache_write + output + reasoning)::BIGINT AS tokens
    FROM llm_calls WHERE run_id = $run AND role <> 'actor' GROUP BY ALL
)
SELECT i.cost_pico_usd, coalesce(r.cost, 0) AS role_cost, coalesce(r.tokens, 0) AS role_tokens,
       i.input_uncached + i.cache_read + i.cache_write + i.output + i.reasoning AS tokens,
       i.elapsed_ms, i.score, i.best_score
FROM iterations i
JOIN episodes e USING (run_id, episode_id)
LEFT JOIN roles r ON r.run_id = i.run_id AND r.episode_id = i.episode_id AND r.iteration = i.iteration
WHERE i.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0
ORDER BY e.scenario, e.episode_id, i.iteration;

-- name: tune_conditions
SELECT c.episode_id, c.iteration, c.kind, c.reason, c.action
FROM conditions c JOIN episodes e USING (run_id, episode_id)
ANTI JOIN guard_series g ON g.run_id = c.run_id AND g.episode_id = c.episode_id AND g.guard = c.name
WHERE c.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0 AND c.state = 'true'
ORDER BY c.episode_id, c.iteration;

-- name: tune_guards
SELECT g.episode_id, g.guard, g.kind, g.settings, g.signals
FROM guard_series g JOIN episodes e USING (run_id, episode_id)
WHERE g.run_id = $run AND e.preset = $preset AND e.observe AND e.repetition = 0;
