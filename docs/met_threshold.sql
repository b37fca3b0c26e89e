-- What docs/met_threshold.py asks its store. Runs: textgrad, reflexion, autoresearch, gepa, loopgain;
-- each has an episode of every recording that ran to its end (observe).

-- name: programs
SELECT exit_iteration AS program, count(*) AS met,
       count(*) FILTER (WHERE outcome = 'success') AS good,
       count(*) FILTER (WHERE outcome = 'failure') AS wrong,
       count(*) FILTER (WHERE outcome IS NULL) AS unknown
FROM episodes WHERE run_id = 'textgrad' AND exit_reason = 'quality_reached'
GROUP BY ROLLUP (exit_iteration) ORDER BY exit_iteration NULLS LAST;

-- name: tasks
SELECT count(DISTINCT task) AS tasks,
       count(DISTINCT task) FILTER (WHERE outcome = 'failure') AS wrong
FROM (SELECT *, regexp_extract(scenario, '[^/]+$') AS task FROM episodes
      WHERE run_id = 'textgrad' AND exit_reason = 'quality_reached');

-- name: repeats
SELECT coalesce(list_max(g.signals) >= 1, false) AS repeated, count(*) AS runs,
       count(*) FILTER (WHERE e.outcome = 'success') AS good
FROM episodes e JOIN guard_series g USING (run_id, episode_id)
WHERE e.run_id = 'textgrad' AND e.observe AND g.guard = 'program' AND len(e.score_history) > 1
GROUP BY repeated ORDER BY repeated;

-- name: own
SELECT split_part(split_part(e.scenario, '/', 2), '__', 1) AS log, count(*) AS runs,
       count(*) FILTER (WHERE met) AS met,
       count(*) FILTER (WHERE met AND e.outcome = 'success') AS good,
       count(*) FILTER (WHERE met AND e.outcome = 'failure') AS wrong,
       count(*) FILTER (WHERE met AND e.outcome IS NULL) AS unknown
FROM (SELECT *, recorded->>'exit_reason' = 'quality_reached' AS met FROM scenarios) s
JOIN episodes e USING (content_hash)
WHERE e.run_id = 'reflexion' GROUP BY log ORDER BY log;

-- name: kept
CREATE VIEW kept AS
WITH whole AS (
    SELECT run_id, content_hash, exit_iteration AS length, best_score, best_iteration AS best_at,
           list_filter(score_history, lambda x: x IS NOT NULL) AS scores
    FROM episodes WHERE observe AND run_id NOT IN ('textgrad', 'reflexion')
)
SELECT e.run_id, e.preset, e.scenario, e.exit_iteration AS used, w.length, w.best_at,
       abs(e.best_score - w.scores[1]) / nullif(abs(w.best_score - w.scores[1]), 0) AS share
FROM episodes e JOIN whole w USING (run_id, content_hash) JOIN scenarios s USING (content_hash)
WHERE len(w.scores) >= 8
  AND (e.preset NOT LIKE 'target met%' OR list_contains(s.tags, 'target_error:0'))
  AND (e.preset <> 'quality 0.85' OR list_contains(s.tags, 'gepa'));

-- name: gains
SELECT run_id, preset, sum(used) / sum(length) AS used,
       count(share) AS gained, avg(share) AS mean, median(share) AS middle, min(share) AS worst,
       count(*) FILTER (WHERE share > 1 - 1e-9) AS whole
FROM kept GROUP BY run_id, preset;

-- name: lengths
SELECT run_id, count(*) AS runs, sum(length) AS iterations, count(share) AS gained,
       median(best_at / length) FILTER (WHERE share IS NOT NULL) AS middle
FROM kept WHERE preset = 'everything' GROUP BY run_id;

-- name: logs
SELECT regexp_replace(scenario, '^[^/]*/', '') AS log, any_value(length) AS length,
       any_value(best_at) AS best_at,
       max(used) FILTER (WHERE preset = 'patience 5') AS patience,
       max(share) FILTER (WHERE preset = 'patience 5') AS patience_share,
       max(used) FILTER (WHERE preset = 'stagnation') AS stagnation,
       max(share) FILTER (WHERE preset = 'stagnation') AS stagnation_share
FROM kept WHERE run_id = 'autoresearch' GROUP BY log ORDER BY log;
