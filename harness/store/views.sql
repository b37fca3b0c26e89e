-- What readers share, so that every figure is worked out in one place. Re-made whenever this
-- harness writes to a store that an older one of the same schema version has made.

CREATE OR REPLACE VIEW signals AS
SELECT run_id, episode_id,
       unnest(range(1, len(signals) + 1))::INTEGER AS iteration,
       guard, kind, settings,
       unnest(signals) AS signal,
       threshold, comparison,
       unnest(fired) AS fired,
       unnest(unknown) AS unknown
FROM guard_series;
COMMENT ON VIEW signals IS 'Every guard at every iteration: signal against threshold';

CREATE OR REPLACE VIEW conditions AS
SELECT run_id, episode_id, iteration,
       c->>'kind' AS kind, c->>'name' AS name, c->>'reason' AS reason,
       c->>'action' AS action, c->>'state' AS state, (c->>'won')::BOOLEAN AS won
FROM (
    SELECT run_id, episode_id, iteration, unnest(json_extract(conditions, '$[*]')) AS c
    FROM iterations
);
COMMENT ON VIEW conditions IS 'Every condition that was true or unknown after an iteration, and which one won';

CREATE OR REPLACE VIEW exits AS
SELECT e.run_id, r.created_ms, e.preset, e.family, e.model, e.exit_reason, e.exit_group,
       count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY e.run_id, e.preset, e.family, e.model) AS share
FROM episodes e JOIN runs r USING (run_id)
GROUP BY e.run_id, r.created_ms, e.preset, e.family, e.model, e.exit_reason, e.exit_group;
COMMENT ON VIEW exits IS 'Exit-reason distribution by run, preset, family and model';

CREATE OR REPLACE VIEW later_better AS
SELECT e.run_id, e.episode_id, e.pair_key, e.scenario, e.preset, e.exit_iteration, e.best_score,
       full_run.best_score AS best_possible,
       CASE s.direction WHEN 'lower' THEN full_run.best_score < e.best_score
                        ELSE full_run.best_score > e.best_score END AS later_was_better
FROM episodes e
JOIN (SELECT DISTINCT content_hash, direction FROM scenarios) s USING (content_hash)
JOIN episodes full_run
  ON full_run.run_id = e.run_id AND full_run.content_hash = e.content_hash
 AND full_run.repetition = e.repetition AND full_run.exit_reason IN ('recording_exhausted', 'agent_finished')
 AND full_run.replay <> 'diverged'
QUALIFY row_number() OVER (PARTITION BY e.run_id, e.episode_id ORDER BY full_run.exit_iteration DESC, full_run.preset) = 1;
COMMENT ON VIEW later_better IS 'Whether going on to the end of the recording would have given a better score; needs an episode of the same scenario in the same run that ran to the end (preset observe)';

CREATE OR REPLACE VIEW policies AS
SELECT e.run_id, e.preset, count(*) AS episodes,
       avg(e.exit_iteration) AS iterations_per_episode,
       sum(e.cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE e.cost_pico_usd IS NULL) AS unpriced,
       count(*) FILTER (WHERE l.later_was_better) AS later_better,
       count(*) FILTER (WHERE l.later_was_better IS NOT NULL) AS comparable
FROM episodes e LEFT JOIN later_better l USING (run_id, episode_id)
GROUP BY e.run_id, e.preset;
COMMENT ON VIEW policies IS 'Stopping policies side by side: iterations, cost, and how often a later iteration was better';

CREATE OR REPLACE VIEW role_calls AS
SELECT run_id, e.preset, c.role, c.model, count(*) AS calls,
       sum(c.input_uncached + c.cache_read + c.cache_write + c.output + c.reasoning)::BIGINT AS tokens,
       sum(c.cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE c.cost_pico_usd IS NULL) AS without_cost,
       count(*) FILTER (WHERE c.parsed = false) AS unparsed,
       count(*) FILTER (WHERE c.error IS NOT NULL) AS failed
FROM llm_calls c JOIN episodes e USING (run_id, episode_id)
GROUP BY run_id, e.preset, c.role, c.model;
COMMENT ON VIEW role_calls IS 'Model calls, tokens and cost by preset and role';

CREATE OR REPLACE VIEW decided_by AS
SELECT e.run_id, e.preset, e.episode_id, i.iteration,
       bool_or(m.mechanism = 'triage' AND m.event = 'hit') AS by_code,
       bool_or(m.mechanism = 'judge' AND m.event IN ('run', 'parse_failure', 'error')) AS by_model
FROM episodes e
JOIN iterations i USING (run_id, episode_id)
LEFT JOIN mechanism_events m
  ON m.run_id = i.run_id AND m.episode_id = i.episode_id AND m.iteration = i.iteration
GROUP BY e.run_id, e.preset, e.episode_id, i.iteration;
COMMENT ON VIEW decided_by IS 'Whether a turn was classified by code alone (triage) or by asking the judge';

CREATE OR REPLACE VIEW recurring_lessons AS
SELECT mistake, count(*) AS times, count(DISTINCT episode_id) AS episodes,
       max(avoid) AS avoid, list(DISTINCT next_strategy) FILTER (WHERE next_strategy IS NOT NULL) AS strategies
FROM lessons WHERE mistake IS NOT NULL
GROUP BY mistake;
COMMENT ON VIEW recurring_lessons IS 'Mistakes over all runs, how often they recur, and what was suggested';

CREATE OR REPLACE VIEW failing_tools AS
SELECT run_id, tool, count(*) AS calls, count(*) FILTER (WHERE NOT ok) AS failed,
       count(*) FILTER (WHERE transient) AS transient
FROM calls GROUP BY run_id, tool;
COMMENT ON VIEW failing_tools IS 'How often each tool was called and failed';

CREATE OR REPLACE VIEW labelled AS
SELECT content_hash,
       max(exit_iteration) FILTER (WHERE label = 'false') AS false_until,
       min(exit_iteration) FILTER (WHERE label = 'late') AS late_from,
       min(exit_iteration) FILTER (WHERE label <> 'false') AS due_by
FROM labels GROUP BY content_hash;
COMMENT ON VIEW labelled IS 'What readers'' labels say of a scenario: up to where a stop is false, from where on it is late, by when one was due';

CREATE OR REPLACE VIEW agreement AS
WITH judged AS (
    SELECT content_hash,
           coalesce(truth->>'verdict', CASE WHEN l.due_by IS NULL THEN 'continue' ELSE 'stop' END) AS truth,
           json_extract_string(truth, '$.reasons[*]') AS reasons,
           (truth->>'by')::INTEGER AS due_by,
           (truth->>'not_before')::INTEGER AS not_before,
           coalesce((truth->>'contestable')::BOOLEAN, false) AS contestable,
           truth->>'why' AS why,
           steps, truth IS NULL AS by_label, l.false_until, l.late_from, l.due_by AS label_due
    FROM scenarios LEFT JOIN labelled l USING (content_hash)
    WHERE truth IS NOT NULL OR l.content_hash IS NOT NULL
), ended AS (
    SELECT e.*, j.truth, j.reasons, coalesce(j.due_by, CASE WHEN j.by_label THEN j.label_due END) AS due_by,
           coalesce(j.not_before, CASE WHEN j.by_label THEN j.false_until + 1 END) AS not_before,
           j.contestable, coalesce(j.why, nullif(s.note, '')) AS why, j.steps,
           j.by_label, j.false_until, j.late_from, j.label_due, s.label,
           e.exit_guard IS NOT NULL AND NOT e.observe AS decided
    FROM episodes e JOIN judged j USING (content_hash)
    LEFT JOIN labels s USING (content_hash, exit_reason, exit_iteration)
)
SELECT run_id, episode_id, scenario, preset, family, truth, reasons, not_before, due_by, contestable,
       why, exit_reason, exit_iteration, warnings,
       CASE
           WHEN observe OR replay = 'diverged' THEN 'unknown'
           -- A reader has looked at this very stop.
           WHEN decided AND label = 'right' THEN 'right'
           WHEN decided AND label = 'false' THEN 'false stop'
           WHEN decided AND label = 'late' THEN 'late'
           -- Nobody wrote a truth: other stops of the same work are judged by what labels imply.
           WHEN by_label AND NOT decided THEN CASE WHEN label_due IS NULL THEN 'right' ELSE 'missed' END
           WHEN by_label AND exit_iteration <= false_until THEN 'false stop'
           WHEN by_label AND exit_iteration >= late_from THEN 'late'
           WHEN by_label THEN 'unknown'
           WHEN NOT decided AND (truth IN ('continue', 'warn') OR contestable
                                 OR list_contains(reasons, exit_reason)) THEN 'right'
           WHEN NOT decided THEN 'missed'
           WHEN truth = 'continue' THEN 'false stop'
           WHEN not_before IS NOT NULL AND exit_iteration < not_before THEN 'false stop'
           WHEN NOT list_contains(reasons, exit_reason) THEN 'wrong reason'
           WHEN due_by IS NOT NULL AND exit_iteration > due_by THEN 'late'
           ELSE 'right'
       END AS agreement
FROM ended;
COMMENT ON VIEW agreement IS 'Episodes against what a sensible user expects, by the scenario''s truth and by readers'' labels: right, false stop, late, missed, wrong reason, unknown';

CREATE OR REPLACE VIEW burnt AS
SELECT a.run_id, a.episode_id, a.preset, a.scenario,
       greatest(coalesce(e.best_iteration, 0), 0) AS best_iteration,
       sum(CASE WHEN e.best_iteration IS NOT NULL AND i.iteration > e.best_iteration
                THEN i.input_uncached + i.cache_read + i.cache_write + i.output + i.reasoning ELSE 0 END)::BIGINT AS tokens_after_best,
       sum(CASE WHEN e.best_iteration IS NOT NULL AND i.iteration > e.best_iteration THEN i.cost_pico_usd ELSE 0 END)::BIGINT AS cost_after_best,
       sum(CASE WHEN a.due_by IS NOT NULL AND i.iteration > a.due_by
                THEN i.input_uncached + i.cache_read + i.cache_write + i.output + i.reasoning ELSE 0 END)::BIGINT AS tokens_after_due,
       sum(CASE WHEN a.due_by IS NOT NULL AND i.iteration > a.due_by THEN i.cost_pico_usd ELSE 0 END)::BIGINT AS cost_after_due
FROM agreement a
JOIN episodes e USING (run_id, episode_id)
JOIN iterations i USING (run_id, episode_id)
GROUP BY a.run_id, a.episode_id, a.preset, a.scenario, e.best_iteration;
COMMENT ON VIEW burnt IS 'Tokens and money spent after the best iteration, and after the iteration by which the loop should have ended';
