-- One episode, for dashboard and report. Huge texts are cut here, so that no reader holds them.

-- name: episode_head
SELECT e.*, e.cost_pico_usd / 1e12 AS cost_usd,
       e.input_uncached + e.cache_read + e.cache_write + e.output + e.reasoning AS tokens,
       r.created_ms, s.title, left(s.goal, $most) AS goal, s.direction, s.source, s.tags, s.truth,
       s.recorded, s.limits, a.agreement, a.truth AS truth_verdict, a.reasons AS truth_reasons,
       a.not_before, a.due_by, a.why
FROM episodes e JOIN runs r USING (run_id)
LEFT JOIN (SELECT * FROM scenarios ORDER BY content_hash) s USING (content_hash)
LEFT JOIN agreement a USING (run_id, episode_id)
WHERE e.episode_id = $episode LIMIT 1;

-- name: episode_iterations
SELECT iteration, phase, branch, step, decision, path, exit_reason, score, score_source,
       best_score, input_uncached + cache_read + cache_write + output + reasoning AS tokens,
       cost_pico_usd / 1e12 AS cost_usd, ms, elapsed_ms, overlap
FROM iterations WHERE episode_id = $episode ORDER BY iteration;

-- name: episode_signals
-- The margin is positive from the threshold on, whichever way the guard compares.
WITH series AS (SELECT rowid AS place, * FROM guard_series WHERE episode_id = $episode),
flat AS (
    SELECT place, guard, kind, settings, on_fire, threshold, comparison,
           unnest(range(1, len(signals) + 1))::INTEGER AS iteration,
           unnest(signals) AS signal, unnest(fired) AS fired, unnest(unknown) AS unknown
    FROM series
)
SELECT guard, kind, iteration, signal, threshold, comparison,
       CASE WHEN isinf(threshold) THEN NULL
            WHEN comparison = '>=' THEN signal - threshold ELSE threshold - signal END AS margin,
       fired, unknown, on_fire, settings
FROM flat ORDER BY place, iteration;

-- name: episode_roles
SELECT iteration, role, count(*) AS calls,
       sum(input_uncached + cache_read + cache_write + output + reasoning)::BIGINT AS tokens,
       sum(cost_pico_usd) / 1e12 AS cost_usd, sum(ms)::BIGINT AS ms,
       string_agg(DISTINCT model, ', ' ORDER BY model) AS model,
       count(*) FILTER (parsed = false) AS unparsed, count(error) AS failed
FROM llm_calls WHERE episode_id = $episode GROUP BY iteration, role ORDER BY iteration, role;

-- name: episode_conditions
WITH flat AS (
    SELECT iteration, unnest(json_extract(conditions, '$[*]')) AS c
    FROM iterations WHERE episode_id = $episode
)
SELECT iteration, c->>'kind' AS kind, c->>'name' AS name, c->>'reason' AS reason,
       c->>'action' AS action, c->>'state' AS state, (c->>'won')::BOOLEAN AS won
FROM flat ORDER BY iteration, won DESC, kind, name;

-- name: episode_calls
SELECT c.iteration, c.n, c.tool, left(a.text, $most) AS args, left(r.text, $most) AS result,
       length(r.text) AS result_length, c.ok, c.exit_code, c.ms, c.waits, c.transient, c.error
FROM (FROM calls WHERE episode_id = $episode) c
LEFT JOIN messages a ON a.hash = c.args_hash LEFT JOIN messages r ON r.hash = c.result_hash
ORDER BY c.iteration, c.n;

-- name: episode_events
SELECT iteration, mechanism, event, trigger, left(reason, $most) AS reason,
       left(result, $most) AS result
FROM mechanism_events WHERE episode_id = $episode ORDER BY rowid;

-- name: episode_checks
SELECT iteration, phase, check_id, kind, passed, left(detail, $most) AS detail
FROM checks WHERE episode_id = $episode ORDER BY rowid;

-- name: episode_texts
WITH wanted AS (
    SELECT iteration, 'user' AS kind, 1 AS place, user_hash AS hash FROM iterations
    WHERE episode_id = $episode AND user_hash IS NOT NULL
    UNION ALL SELECT iteration, 'work order', 2, work_order FROM iterations
    WHERE episode_id = $episode AND work_order IS NOT NULL
    UNION ALL SELECT iteration, 'plan', 3, plan_hash FROM iterations
    WHERE episode_id = $episode AND plan_hash IS NOT NULL
    UNION ALL SELECT iteration, 'reply', 4, reply_hash FROM iterations
    WHERE episode_id = $episode AND reply_hash IS NOT NULL
    UNION ALL SELECT iteration, 'output', 5, output_hash FROM iterations
    WHERE episode_id = $episode AND output_hash IS NOT NULL
    UNION ALL SELECT iteration, 'feedback', 6, feedback_hash FROM iterations
    WHERE episode_id = $episode AND feedback_hash IS NOT NULL
    UNION ALL SELECT iteration, 'nudge', 7, nudge_hash FROM iterations
    WHERE episode_id = $episode AND nudge_hash IS NOT NULL
)
SELECT w.iteration, w.kind, left(m.text, $most) AS text, length(m.text) AS length
FROM wanted w JOIN messages m USING (hash) ORDER BY w.iteration, w.place;

-- name: episode_spans
WITH RECURSIVE own AS (SELECT rowid AS place, * FROM spans WHERE episode_id = $episode),
tree AS (
    SELECT span_id, 0 AS depth FROM own
    WHERE parent_id IS NULL OR parent_id NOT IN (SELECT span_id FROM own)
    UNION ALL
    SELECT o.span_id, t.depth + 1 FROM own o JOIN tree t ON o.parent_id = t.span_id
)
SELECT name, kind, (start_ns - min(start_ns) OVER ()) / 1e6 AS start_ms,
       (end_ns - min(start_ns) OVER ()) / 1e6 AS end_ms, depth, parent_id AS parent, span_id,
       status
FROM own JOIN tree USING (span_id) ORDER BY start_ns, depth, place;
