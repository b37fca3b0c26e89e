-- What dashboard and report show, by name. Every query on episodes begins with `chosen_episodes`,
-- whose parameters are the reader's filters: an empty list means all. Money is in USD here.

-- name: chosen_episodes
WITH chosen AS NOT MATERIALIZED (
    SELECT *, cost_pico_usd / 1e12 AS cost_usd,
           input_uncached + cache_read + cache_write + output + reasoning AS tokens
    FROM episodes
    WHERE (len($runs) = 0 OR run_id IN (SELECT unnest($runs)))
      AND (len($presets) = 0 OR preset IN (SELECT unnest($presets)))
      AND (len($families) = 0 OR family IN (SELECT unnest($families)))
      AND (len($models) = 0 OR coalesce(model, '(unknown)') IN (SELECT unnest($models)))
      AND (len($outcomes) = 0 OR coalesce(outcome, '(unknown)') IN (SELECT unnest($outcomes)))
      AND (len($tags) = 0 OR content_hash IN
           (SELECT content_hash FROM scenarios WHERE list_has_any(tags, $tags::VARCHAR[])))
)

-- name: figure_runs
SELECT r.run_id, r.created_ms, r.state, r.harness_version,
       count(e.episode_id) AS episodes, count(DISTINCT e.scenario) AS scenarios,
       coalesce(list(DISTINCT e.preset ORDER BY e.preset) FILTER (e.preset IS NOT NULL), [])
           AS presets
FROM runs r LEFT JOIN episodes e USING (run_id)
GROUP BY ALL ORDER BY r.created_ms DESC, r.run_id DESC;

-- name: figure_choices
SELECT DISTINCT 'presets' AS filter, preset AS value FROM episodes
UNION ALL SELECT DISTINCT 'families', family FROM episodes
UNION ALL SELECT DISTINCT 'models', coalesce(model, '(unknown)') FROM episodes
UNION ALL SELECT DISTINCT 'outcomes', coalesce(outcome, '(unknown)') FROM episodes
UNION ALL SELECT DISTINCT 'tags', unnest(tags) FROM scenarios
ORDER BY filter, value;

-- name: figure_exits
SELECT preset, exit_reason, exit_group, count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY preset) AS share
FROM chosen GROUP BY preset, exit_reason, exit_group
ORDER BY preset, episodes DESC, exit_reason;

-- name: figure_trend
SELECT c.run_id, r.created_ms, c.preset, c.exit_group, count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY c.run_id, c.preset) AS share
FROM chosen c JOIN runs r USING (run_id)
GROUP BY c.run_id, r.created_ms, c.preset, c.exit_group
ORDER BY r.created_ms, c.run_id, c.preset, c.exit_group;

-- name: figure_totals
, told AS (
    SELECT c.preset,
           count(*) AS judged,
           count(*) FILTER (a.agreement = 'right') AS "right",
           count(*) FILTER (a.agreement = 'false stop') AS false_stops,
           count(*) FILTER (a.agreement = 'late') AS late,
           count(*) FILTER (a.agreement = 'missed') AS missed,
           count(*) FILTER (a.agreement = 'wrong reason') AS wrong_reasons,
           count(*) FILTER (a.agreement = 'unknown') AS not_judged
    FROM chosen c JOIN agreement a USING (run_id, episode_id)
    WHERE NOT a.contestable GROUP BY c.preset
)
SELECT c.preset, count(*) AS episodes, sum(exit_iteration)::BIGINT AS iterations,
       sum(tokens)::BIGINT AS tokens, count(*) - count(tokens) AS tokens_unknown,
       sum(cost_pico_usd) / 1e12 AS cost_usd, count(*) - count(cost_usd) AS cost_unknown,
       sum(elapsed_ms)::BIGINT AS elapsed_ms, count(*) - count(elapsed_ms) AS elapsed_unknown,
       avg(best_score) AS mean_best, count(best_score) AS scored,
       count(*) FILTER (exit_group = 'success') AS success,
       count(*) FILTER (exit_group = 'paused') AS paused,
       count(*) FILTER (exit_group = 'limit') AS "limit",
       count(*) FILTER (exit_group = 'stuck') AS stuck,
       count(*) FILTER (exit_group = 'undecided') AS undecided,
       count(*) FILTER (needs_human) AS needs_human,
       count(*) FILTER (replay = 'exact') AS exact,
       count(*) FILTER (replay = 'censored') AS censored,
       count(*) FILTER (replay = 'diverged') AS diverged,
       sum(unknown_verdicts)::BIGINT AS unknown_verdicts,
       sum(warnings)::BIGINT AS warnings,
       any_value(t.judged) AS judged, any_value(t."right") AS "right",
       any_value(t.false_stops) AS false_stops, any_value(t.late) AS late,
       any_value(t.missed) AS missed, any_value(t.wrong_reasons) AS wrong_reasons,
       any_value(t.not_judged) AS not_judged,
       bool_and(observe) AS observed
FROM chosen c LEFT JOIN told t USING (preset)
GROUP BY c.preset ORDER BY c.preset;

-- name: figure_matrix
-- One episode a cell: of the newest run, its first repetition.
, cells AS (
    SELECT scenario, family, preset, exit_reason, exit_group, exit_iteration, best_score, cost_usd,
           episode_id
    FROM chosen c JOIN runs r USING (run_id)
    QUALIFY row_number() OVER (PARTITION BY scenario, preset
                               ORDER BY r.created_ms DESC, run_id DESC, repetition) = 1
), told AS (
    SELECT scenario, count(DISTINCT (exit_reason, exit_iteration)) AS endings,
           count(DISTINCT exit_reason) AS reasons,
           -- Families take turns, so that a large one does not fill the page.
           row_number() OVER (PARTITION BY any_value(family), count(DISTINCT exit_reason)
               ORDER BY count(DISTINCT (exit_reason, exit_iteration)) DESC, scenario) AS turn
    FROM cells GROUP BY scenario
), page AS (
    SELECT scenario, endings > 1 AS differs,
           row_number() OVER (ORDER BY reasons DESC, turn, scenario) AS place
    FROM told WHERE NOT $only_differing OR endings > 1
    ORDER BY place LIMIT $limit OFFSET $offset
)
SELECT scenario, family, preset, exit_reason, exit_group, exit_iteration AS iteration, best_score,
       cost_usd, episode_id, differs
FROM cells JOIN page USING (scenario) ORDER BY place, preset;

-- name: figure_differing
, told AS (
    SELECT run_id, scenario, count(DISTINCT (exit_reason, exit_iteration)) AS endings,
           count(DISTINCT preset) AS presets
    FROM chosen GROUP BY run_id, scenario
)
SELECT count(DISTINCT scenario) AS scenarios,
       count(DISTINCT scenario) FILTER (endings > 1 AND presets > 1) AS differing
FROM told;

-- name: figure_presets
SELECT DISTINCT preset FROM chosen ORDER BY preset;

-- name: paired_scenarios
-- A scenario counts once, however often it was repeated.
, pairs AS (
    SELECT c.preset, c.scenario,
           (c.exit_iteration - b.exit_iteration)::DOUBLE AS iterations,
           (c.tokens - b.tokens)::DOUBLE AS tokens,
           c.cost_usd - b.cost_usd AS cost_usd,
           CASE s.direction WHEN 'lower' THEN b.best_score - c.best_score
                            ELSE c.best_score - b.best_score END AS best_score
    FROM chosen c
    JOIN chosen b ON b.run_id = c.run_id AND b.content_hash = c.content_hash
                 AND b.scenario = c.scenario AND b.repetition = c.repetition
    LEFT JOIN (SELECT content_hash, min(direction) AS direction FROM scenarios
               GROUP BY content_hash) s ON s.content_hash = c.content_hash
    WHERE b.preset = $base AND c.preset <> $base
), singles AS (
    SELECT preset, scenario, avg(iterations) AS iterations, avg(tokens) AS tokens,
           avg(cost_usd) AS cost_usd, avg(best_score) AS best_score
    FROM pairs GROUP BY preset, scenario
)

-- name: figure_paired
FROM singles ORDER BY preset, scenario;

-- name: figure_paired_sums
, long AS (
    SELECT preset, 1 AS place, 'iterations' AS metric, iterations AS value FROM singles
    UNION ALL SELECT preset, 2, 'tokens', tokens FROM singles
    UNION ALL SELECT preset, 3, 'cost_usd', cost_usd FROM singles
    UNION ALL SELECT preset, 4, 'best_score', best_score FROM singles
)
SELECT preset, metric, count(*) AS "of", count(value) AS scenarios,
       coalesce(avg(value), 0) AS mean, coalesce(stddev_samp(value), 0) AS spread,
       count(*) FILTER (value < 0) AS less, count(*) FILTER (value = 0) AS same,
       count(*) FILTER (value > 0) AS more
FROM long GROUP BY preset, metric, place ORDER BY preset, place;

-- name: figure_episodes
, told AS (
    SELECT c.*, a.agreement, coalesce(a.contestable, false) AS contestable,
           -- The weightiest first: wrong by the scenario's truth, then what cannot be trusted.
           CASE WHEN a.agreement = 'false stop' AND NOT a.contestable THEN 6
                WHEN a.agreement = 'wrong reason' AND NOT a.contestable THEN 5
                WHEN a.agreement IN ('late', 'missed') AND NOT a.contestable THEN 4
                WHEN c.replay = 'diverged' THEN 3 WHEN c.needs_human THEN 2
                WHEN c.unknown_verdicts > 0 THEN 1 ELSE 0 END AS weight
    FROM chosen c LEFT JOIN agreement a USING (run_id, episode_id)
)
SELECT episode_id, run_id, scenario, family, preset, model, repetition, status, exit_reason,
       exit_group, exit_guard, exit_iteration AS iteration, rounds, best_score, tokens, cost_usd,
       elapsed_ms, needs_human, replay, unknown_verdicts, warnings, outcome, agreement, weight,
       left(message, 400) AS message
FROM told

-- name: figure_count
SELECT count(*) AS episodes FROM chosen;

-- name: figure_lengths
SELECT preset, rounds, exit_group, count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY preset) AS share
FROM chosen GROUP BY preset, rounds, exit_group ORDER BY preset, rounds, exit_group;

-- name: figure_guards
, readings AS (
    SELECT c.preset, g.guard, g.kind, g.threshold, g.comparison, g.on_fire,
           c.exit_guard IS NOT DISTINCT FROM g.guard AND NOT c.observe AS ended,
           len(g.signals) AS readings,
           list_sum(g.fired::INTEGER[]) AS fired,
           list_sum(g.unknown::INTEGER[]) AS unknown,
           list_max(g.signals) AS highest, list_min(g.signals) AS lowest
    FROM guard_series g JOIN chosen c USING (run_id, episode_id)
)
SELECT preset, guard, any_value(kind) AS kind, min(threshold) AS threshold,
       count(DISTINCT threshold) AS thresholds, any_value(comparison) AS comparison,
       any_value(on_fire) AS on_fire, count(*) AS episodes,
       count(*) FILTER (fired > 0) AS fired_episodes, count(*) FILTER (ended) AS ended,
       sum(readings)::BIGINT AS readings, sum(fired)::BIGINT AS fired,
       sum(unknown)::BIGINT AS unknown,
       sum(unknown) / nullif(sum(readings), 0) AS unknown_share,
       CASE any_value(comparison) WHEN '>=' THEN max(highest) ELSE min(lowest) END AS nearest,
       coalesce(sum(fired), 0) = 0 AND NOT bool_or(isinf(threshold)) AS never_reached
FROM readings GROUP BY preset, guard ORDER BY preset, guard;

-- name: figure_mechanisms
SELECT c.preset, m.mechanism, m.event, count(DISTINCT c.episode_id) AS episodes, count(*) AS times
FROM mechanism_events m JOIN chosen c USING (run_id, episode_id)
GROUP BY ALL ORDER BY c.preset, m.mechanism, times DESC, m.event;

-- name: figure_decided
, turns AS (
    SELECT c.preset, m.episode_id, m.iteration,
           bool_or(m.mechanism = 'triage' AND m.event = 'hit') AS by_code,
           bool_or(m.mechanism = 'judge' AND m.event IN ('run', 'parse_failure', 'error'))
               AS by_model
    FROM mechanism_events m JOIN chosen c USING (run_id, episode_id)
    WHERE m.mechanism IN ('triage', 'judge') GROUP BY ALL
)
SELECT preset, count(*) FILTER (by_code) AS by_code,
       count(*) FILTER (by_model AND NOT by_code) AS by_model,
       count(*) FILTER (by_code) / nullif(count(*) FILTER (by_code OR by_model), 0) AS code_share
FROM turns GROUP BY preset ORDER BY preset;

-- name: figure_roles
SELECT c.preset, l.role, count(*) AS calls,
       sum(l.input_uncached + l.cache_read + l.cache_write + l.output + l.reasoning)::BIGINT
           AS tokens,
       sum(l.cost_pico_usd) / 1e12 AS cost_usd, count(*) - count(l.cost_pico_usd) AS cost_unknown,
       count(*) FILTER (l.parsed = false) AS unparsed, count(l.error) AS failed
FROM llm_calls l JOIN chosen c USING (run_id, episode_id)
GROUP BY c.preset, l.role ORDER BY c.preset, l.role;

-- name: figure_lessons
SELECT left(mistake, 400) AS mistake, times, episodes, left(avoid, 400) AS avoid,
       list_transform(strategies, lambda s: left(s, 400)) AS strategies
FROM recurring_lessons ORDER BY times DESC, mistake LIMIT $limit;

-- name: figure_data
WITH known AS (
    SELECT DISTINCT ON (content_hash) content_hash, truth IS NOT NULL AS judged FROM scenarios
)
SELECT e.run_id, e.family, any_value(r.created_ms) AS created_ms, any_value(r.state) AS state,
       count(*) AS episodes, count(DISTINCT e.scenario) AS scenarios,
       count(DISTINCT e.preset) AS presets, sum(e.exit_iteration)::BIGINT AS iterations,
       count(*) FILTER (e.input_uncached IS NULL) AS without_usage,
       count(*) FILTER (e.cost_pico_usd IS NULL) AS without_price,
       count(*) FILTER (e.elapsed_ms IS NULL) AS without_time,
       count(*) FILTER (e.best_score IS NULL) AS without_score,
       count(*) FILTER (NOT coalesce(k.judged, false)) AS without_truth,
       count(*) FILTER (e.outcome IS NULL) AS without_outcome,
       count(*) FILTER (e.replay = 'exact') AS exact,
       count(*) FILTER (e.replay = 'censored') AS censored,
       count(*) FILTER (e.replay = 'diverged') AS diverged,
       count(*) FILTER (e.observe) AS observed
FROM episodes e JOIN runs r USING (run_id) LEFT JOIN known k USING (content_hash)
GROUP BY e.run_id, e.family ORDER BY created_ms DESC, e.run_id, e.family;

-- name: figure_cheapest
-- Only work that every preset of its run did: the same content, the same repetition.
, wide AS (
    SELECT *, count(DISTINCT preset) OVER (PARTITION BY run_id, content_hash, scenario, repetition)
              AS here,
           min(best_score) OVER (PARTITION BY run_id, content_hash, scenario, repetition) AS least,
           max(best_score) OVER (PARTITION BY run_id, content_hash, scenario, repetition) AS most,
           count(cost_usd) OVER (PARTITION BY run_id, content_hash, scenario, repetition) AS priced,
           count(tokens) OVER (PARTITION BY run_id, content_hash, scenario, repetition) AS counted,
           count(*) OVER (PARTITION BY run_id, content_hash, scenario, repetition) AS ours
    FROM chosen
), presets_of AS (SELECT run_id, count(DISTINCT preset) AS presets FROM chosen GROUP BY run_id)
SELECT w.preset, w.scenario, w.cost_usd, w.tokens, w.exit_iteration AS iterations,
       w.priced = w.ours AS priced, w.counted = w.ours AS counted,
       CASE WHEN w.best_score IS NULL THEN abs(w.most - w.least)
            WHEN s.direction = 'lower' THEN w.best_score - w.least
            ELSE w.most - w.best_score END AS lost,
       coalesce(NOT a.contestable AND a.agreement <> 'unknown', false) AS judged,
       coalesce(a.agreement = 'false stop' AND NOT a.contestable, false) AS false_stop, w.observe AS observed
FROM wide w JOIN presets_of p ON p.run_id = w.run_id AND p.presets = w.here
LEFT JOIN (SELECT DISTINCT ON (content_hash) content_hash, direction FROM scenarios) s
  ON s.content_hash = w.content_hash
LEFT JOIN agreement a ON a.run_id = w.run_id AND a.episode_id = w.episode_id
ORDER BY w.preset, w.scenario;
