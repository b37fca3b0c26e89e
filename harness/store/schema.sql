-- The store: one DuckDB file. Times are integer ms, money is integer pico-USD, NULL is unknown,
-- iterations count from 1. Rows of an episode are written together or not at all.
-- `harness docs tables` prints this file's comments.

CREATE TABLE store_meta (
    key   VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE store_meta IS 'Version of the schema and of the harness that made the store';

CREATE TABLE runs (
    run_id          VARCHAR PRIMARY KEY,
    created_ms      BIGINT NOT NULL,
    harness_version VARCHAR NOT NULL,
    state           VARCHAR NOT NULL,
    options         VARCHAR NOT NULL
);
COMMENT ON TABLE runs IS 'Invocations: episodes made together';
COMMENT ON COLUMN runs.created_ms IS 'Start, ms since the epoch; virtual times count from here';
COMMENT ON COLUMN runs.state IS 'running, complete or failed; a killed run stays running and can be resumed';
COMMENT ON COLUMN runs.options IS 'JSON: paths, presets, observe, repetitions, so that a run can be continued';

CREATE TABLE presets (
    preset_hash VARCHAR NOT NULL,
    name        VARCHAR NOT NULL,
    title       VARCHAR NOT NULL,
    data        VARCHAR NOT NULL
);
COMMENT ON TABLE presets IS 'Resolved presets, each content once';
COMMENT ON COLUMN presets.data IS 'JSON: guards with thresholds and settings, mechanisms';

CREATE TABLE scenarios (
    content_hash VARCHAR NOT NULL,
    scenario     VARCHAR NOT NULL,
    family       VARCHAR NOT NULL,
    title        VARCHAR NOT NULL,
    source       VARCHAR,
    goal         VARCHAR NOT NULL,
    direction    VARCHAR NOT NULL,
    tags         VARCHAR[] NOT NULL,
    steps        INTEGER NOT NULL,
    truth        VARCHAR,
    recorded     VARCHAR NOT NULL
);
COMMENT ON TABLE scenarios IS 'Scenarios replayed, each content once';
COMMENT ON COLUMN scenarios.truth IS 'JSON: what a sensible user expects, NULL if nobody said';
COMMENT ON COLUMN scenarios.recorded IS 'JSON: what the real run did, where known';

CREATE TABLE episodes (
    run_id             VARCHAR NOT NULL,
    episode_id         VARCHAR NOT NULL,
    pair_key           VARCHAR NOT NULL,
    scenario           VARCHAR NOT NULL,
    preset             VARCHAR NOT NULL,
    family             VARCHAR NOT NULL,
    model              VARCHAR,
    repetition         INTEGER NOT NULL,
    observe            BOOLEAN NOT NULL,
    status             VARCHAR NOT NULL,
    exit_reason        VARCHAR NOT NULL,
    exit_group         VARCHAR NOT NULL,
    exit_guard         VARCHAR,
    exit_reason_source VARCHAR NOT NULL,
    message            VARCHAR NOT NULL,
    exit_iteration     INTEGER NOT NULL,
    rounds             INTEGER NOT NULL,
    best_score         DOUBLE,
    best_iteration     INTEGER,
    final_score        DOUBLE,
    score_history      DOUBLE[] NOT NULL,
    input_uncached     BIGINT,
    cache_read         BIGINT,
    cache_write        BIGINT,
    output             BIGINT,
    reasoning          BIGINT,
    cost_pico_usd      BIGINT,
    elapsed_ms         BIGINT,
    calls              INTEGER NOT NULL,
    needs_human        BOOLEAN NOT NULL,
    replay             VARCHAR NOT NULL,
    diverged_at        INTEGER,
    unrecorded_calls   INTEGER NOT NULL,
    drifted_calls      INTEGER NOT NULL,
    unknown_verdicts   INTEGER NOT NULL,
    outcome            VARCHAR,
    trace_id           VARCHAR NOT NULL,
    content_hash       VARCHAR NOT NULL,
    preset_hash        VARCHAR NOT NULL,
    best_result        UBIGINT,
    warnings           INTEGER NOT NULL,
    prompt_assumed     BOOLEAN NOT NULL,
    summary            VARCHAR NOT NULL
);
COMMENT ON TABLE episodes IS 'One scenario under one preset: how it ended and what it took';
COMMENT ON COLUMN episodes.pair_key IS 'Hash of scenario content, resolved preset and repetition: equal work in two runs';
COMMENT ON COLUMN episodes.model IS 'Model of the first reply that names one';
COMMENT ON COLUMN episodes.exit_guard IS 'Name of the guard or mechanism that decided, NULL if nothing did';
COMMENT ON COLUMN episodes.exit_reason_source IS 'explicit, inferred or unknown';
COMMENT ON COLUMN episodes.rounds IS 'Revisions: iterations after the first';
COMMENT ON COLUMN episodes.replay IS 'exact, censored (recording ended undecided) or diverged (left its recording)';
COMMENT ON COLUMN episodes.unknown_verdicts IS 'Readings that could not be judged, over all guards';
COMMENT ON COLUMN episodes.outcome IS 'What became of the real run, where the recording says';
COMMENT ON COLUMN episodes.warnings IS 'Warnings and nudges on the way; they end nothing';
COMMENT ON COLUMN episodes.prompt_assumed IS 'Prompt parts were made that the recorded agent may not have seen';
COMMENT ON COLUMN episodes.summary IS 'Written however an episode ends';
COMMENT ON COLUMN episodes.best_result IS 'Text of the best iteration (messages.hash)';

CREATE TABLE iterations (
    run_id         VARCHAR NOT NULL,
    episode_id     VARCHAR NOT NULL,
    iteration      INTEGER NOT NULL,
    phase          VARCHAR,
    branch         VARCHAR NOT NULL,
    step           INTEGER NOT NULL,
    decision       VARCHAR NOT NULL,
    path           INTEGER NOT NULL,
    exit_reason    VARCHAR,
    score          DOUBLE,
    score_source   VARCHAR,
    best_score     DOUBLE,
    conditions     VARCHAR NOT NULL,
    input_uncached BIGINT,
    cache_read     BIGINT,
    cache_write    BIGINT,
    output         BIGINT,
    reasoning      BIGINT,
    cost_pico_usd  BIGINT,
    ms             BIGINT,
    elapsed_ms     BIGINT,
    reply_hash     UBIGINT,
    output_hash    UBIGINT,
    feedback_hash  UBIGINT,
    plan_hash      UBIGINT,
    user_hash      UBIGINT,
    nudge_hash     UBIGINT,
    span_id        VARCHAR NOT NULL,
    overlap        DOUBLE,
    work_order     UBIGINT
);
COMMENT ON TABLE iterations IS 'One assistant turn with its calls and its evaluation';
COMMENT ON COLUMN iterations.branch IS 'Where in the recording: empty for the trunk, else switch_strategy[0], ...';
COMMENT ON COLUMN iterations.step IS 'Step of that branch, from 1';
COMMENT ON COLUMN iterations.path IS 'Row of the decision chain, 0 to 10';
COMMENT ON COLUMN iterations.exit_reason IS 'What would have ended the loop here, NULL if nothing';
COMMENT ON COLUMN iterations.conditions IS 'JSON: all that was true or unknown: kind, name, reason, action, state; the winner is marked';
COMMENT ON COLUMN iterations.reply_hash IS 'Texts by messages.hash';
COMMENT ON COLUMN iterations.overlap IS 'Share of a person''s message that occurs in the goal, NULL where nobody spoke';
COMMENT ON COLUMN iterations.work_order IS 'Text ahead of the actor''s input (messages.hash)';

CREATE TABLE guard_series (
    run_id     VARCHAR NOT NULL,
    episode_id VARCHAR NOT NULL,
    guard      VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    settings   VARCHAR NOT NULL,
    threshold  DOUBLE NOT NULL,
    comparison VARCHAR NOT NULL,
    on_fire    VARCHAR NOT NULL,
    signals    DOUBLE[] NOT NULL,
    fired      BOOLEAN[] NOT NULL,
    unknown    BOOLEAN[] NOT NULL
);
COMMENT ON TABLE guard_series IS 'All readings of one guard in one episode; entry i belongs to iteration i';
COMMENT ON COLUMN guard_series.settings IS 'JSON: structural settings (windows, identities)';
COMMENT ON COLUMN guard_series.comparison IS 'How signal and threshold compare: >=, <= or <';
COMMENT ON COLUMN guard_series.signals IS 'NULL where nothing could be measured';
COMMENT ON COLUMN guard_series.unknown IS 'Also true where the signal is a lower bound under the threshold';

CREATE TABLE calls (
    run_id      VARCHAR NOT NULL,
    episode_id  VARCHAR NOT NULL,
    iteration   INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    tool        VARCHAR NOT NULL,
    args_hash   UBIGINT NOT NULL,
    result_hash UBIGINT,
    ok          BOOLEAN NOT NULL,
    exit_code   BIGINT,
    ms          BIGINT,
    waits       BOOLEAN NOT NULL,
    transient   BOOLEAN NOT NULL,
    action      VARCHAR NOT NULL,
    with_args   VARCHAR NOT NULL,
    with_result VARCHAR NOT NULL,
    normalised  VARCHAR NOT NULL,
    error       VARCHAR
);
COMMENT ON TABLE calls IS 'Tool calls with their fingerprints';
COMMENT ON COLUMN calls.action IS 'Fingerprint by kind and tool; with_args adds arguments, with_result the result, normalised the result without what moves';
COMMENT ON COLUMN calls.error IS 'Signature of the failure, NULL if it succeeded or said nothing';

CREATE TABLE llm_calls (
    run_id         VARCHAR NOT NULL,
    episode_id     VARCHAR NOT NULL,
    iteration      INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    role           VARCHAR NOT NULL,
    model          VARCHAR,
    input_uncached BIGINT,
    cache_read     BIGINT,
    cache_write    BIGINT,
    output         BIGINT,
    reasoning      BIGINT,
    cost_pico_usd  BIGINT,
    ms             BIGINT,
    finish_reason  VARCHAR,
    parsed         BOOLEAN,
    drift          BOOLEAN,
    error          VARCHAR
);
COMMENT ON TABLE llm_calls IS 'Model calls by role; the actor is one of them';
COMMENT ON COLUMN llm_calls.parsed IS 'Whether an evaluator''s reply obeyed its format, NULL where none is asked';
COMMENT ON COLUMN llm_calls.drift IS 'Whether the request differs from the recorded one, NULL where nothing is recorded';

CREATE TABLE messages (
    hash UBIGINT NOT NULL,
    text VARCHAR NOT NULL
);
COMMENT ON TABLE messages IS 'Every text once, by content hash';

CREATE TABLE checks (
    run_id     VARCHAR NOT NULL,
    episode_id VARCHAR NOT NULL,
    iteration  INTEGER NOT NULL,
    phase      VARCHAR NOT NULL,
    check_id   VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    passed     BOOLEAN NOT NULL,
    detail     VARCHAR NOT NULL
);
COMMENT ON TABLE checks IS 'Phase checks as they were looked at';

CREATE TABLE mechanism_events (
    run_id     VARCHAR NOT NULL,
    episode_id VARCHAR NOT NULL,
    iteration  INTEGER NOT NULL,
    mechanism  VARCHAR NOT NULL,
    event      VARCHAR NOT NULL,
    trigger    VARCHAR,
    reason     VARCHAR,
    result     VARCHAR
);
COMMENT ON TABLE mechanism_events IS 'Every run or skip of a mechanism, with trigger, reason and result';

CREATE TABLE lessons (
    run_id        VARCHAR NOT NULL,
    episode_id    VARCHAR NOT NULL,
    iteration     INTEGER NOT NULL,
    reason        VARCHAR,
    progress      VARCHAR,
    mistake       VARCHAR,
    avoid         VARCHAR,
    next_strategy VARCHAR
);
COMMENT ON TABLE lessons IS 'The feedback log: what was tried and did not work';

CREATE TABLE spans (
    run_id     VARCHAR NOT NULL,
    episode_id VARCHAR NOT NULL,
    trace_id   VARCHAR NOT NULL,
    span_id    VARCHAR NOT NULL,
    parent_id  VARCHAR,
    name       VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    start_ns   BIGINT NOT NULL,
    end_ns     BIGINT NOT NULL,
    status     VARCHAR NOT NULL,
    attributes VARCHAR NOT NULL,
    events     VARCHAR NOT NULL
);
COMMENT ON TABLE spans IS 'The OpenTelemetry spans, as they would be exported';
COMMENT ON COLUMN spans.attributes IS 'JSON object';
COMMENT ON COLUMN spans.events IS 'JSON list of events with name, time and attributes';

-- Views: what readers share, so that every figure is worked out in one place.

CREATE VIEW signals AS
SELECT run_id, episode_id,
       unnest(range(1, len(signals) + 1))::INTEGER AS iteration,
       guard, kind, settings,
       unnest(signals) AS signal,
       threshold, comparison,
       unnest(fired) AS fired,
       unnest(unknown) AS unknown
FROM guard_series;
COMMENT ON VIEW signals IS 'Every guard at every iteration: signal against threshold';

CREATE VIEW conditions AS
SELECT run_id, episode_id, iteration,
       c->>'kind' AS kind, c->>'name' AS name, c->>'reason' AS reason,
       c->>'action' AS action, c->>'state' AS state, (c->>'won')::BOOLEAN AS won
FROM (
    SELECT run_id, episode_id, iteration, unnest(json_extract(conditions, '$[*]')) AS c
    FROM iterations
);
COMMENT ON VIEW conditions IS 'Every condition that was true or unknown after an iteration, and which one won';

CREATE VIEW exits AS
SELECT e.run_id, r.created_ms, e.preset, e.family, e.model, e.exit_reason, e.exit_group,
       count(*) AS episodes,
       count(*) / sum(count(*)) OVER (PARTITION BY e.run_id, e.preset, e.family, e.model) AS share
FROM episodes e JOIN runs r USING (run_id)
GROUP BY e.run_id, r.created_ms, e.preset, e.family, e.model, e.exit_reason, e.exit_group;
COMMENT ON VIEW exits IS 'Exit-reason distribution by run, preset, family and model';

CREATE VIEW later_better AS
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

CREATE VIEW policies AS
SELECT e.run_id, e.preset, count(*) AS episodes,
       avg(e.exit_iteration) AS iterations_per_episode,
       sum(e.cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE e.cost_pico_usd IS NULL) AS unpriced,
       count(*) FILTER (WHERE l.later_was_better) AS later_better,
       count(*) FILTER (WHERE l.later_was_better IS NOT NULL) AS comparable
FROM episodes e LEFT JOIN later_better l USING (run_id, episode_id)
GROUP BY e.run_id, e.preset;
COMMENT ON VIEW policies IS 'Stopping policies side by side: iterations, cost, and how often a later iteration was better';

CREATE VIEW role_calls AS
SELECT run_id, e.preset, c.role, c.model, count(*) AS calls,
       sum(c.input_uncached + c.cache_read + c.cache_write + c.output + c.reasoning)::BIGINT AS tokens,
       sum(c.cost_pico_usd)::BIGINT AS cost_pico_usd,
       count(*) FILTER (WHERE c.cost_pico_usd IS NULL) AS without_cost,
       count(*) FILTER (WHERE c.parsed = false) AS unparsed,
       count(*) FILTER (WHERE c.error IS NOT NULL) AS failed
FROM llm_calls c JOIN episodes e USING (run_id, episode_id)
GROUP BY run_id, e.preset, c.role, c.model;
COMMENT ON VIEW role_calls IS 'Model calls, tokens and cost by preset and role';

CREATE VIEW decided_by AS
SELECT e.run_id, e.preset, e.episode_id, i.iteration,
       bool_or(m.mechanism = 'triage' AND m.event = 'hit') AS by_code,
       bool_or(m.mechanism = 'judge' AND m.event IN ('run', 'parse_failure', 'error')) AS by_model
FROM episodes e
JOIN iterations i USING (run_id, episode_id)
LEFT JOIN mechanism_events m
  ON m.run_id = i.run_id AND m.episode_id = i.episode_id AND m.iteration = i.iteration
GROUP BY e.run_id, e.preset, e.episode_id, i.iteration;
COMMENT ON VIEW decided_by IS 'Whether a turn was classified by code alone (triage) or by asking the judge';

CREATE VIEW recurring_lessons AS
SELECT mistake, count(*) AS times, count(DISTINCT episode_id) AS episodes,
       max(avoid) AS avoid, list(DISTINCT next_strategy) FILTER (WHERE next_strategy IS NOT NULL) AS strategies
FROM lessons WHERE mistake IS NOT NULL
GROUP BY mistake;
COMMENT ON VIEW recurring_lessons IS 'Mistakes over all runs, how often they recur, and what was suggested';

CREATE VIEW failing_tools AS
SELECT run_id, tool, count(*) AS calls, count(*) FILTER (WHERE NOT ok) AS failed,
       count(*) FILTER (WHERE transient) AS transient
FROM calls GROUP BY run_id, tool;
COMMENT ON VIEW failing_tools IS 'How often each tool was called and failed';

CREATE VIEW agreement AS
WITH judged AS (
    SELECT content_hash,
           truth->>'verdict' AS truth,
           json_extract_string(truth, '$.reasons[*]') AS reasons,
           (truth->>'by')::INTEGER AS due_by,
           (truth->>'not_before')::INTEGER AS not_before,
           coalesce((truth->>'contestable')::BOOLEAN, false) AS contestable,
           truth->>'why' AS why,
           steps
    FROM scenarios WHERE truth IS NOT NULL
), ended AS (
    SELECT e.*, j.truth, j.reasons, j.due_by, j.not_before, j.contestable, j.why, j.steps,
           e.exit_guard IS NOT NULL AND NOT e.observe AS decided
    FROM episodes e JOIN judged j USING (content_hash)
)
SELECT run_id, episode_id, scenario, preset, family, truth, reasons, not_before, due_by, contestable,
       why, exit_reason, exit_iteration, warnings,
       CASE
           WHEN observe OR replay = 'diverged' THEN 'unknown'
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
COMMENT ON VIEW agreement IS 'Episodes against what a sensible user expects: right, false stop, late, missed, wrong reason, unknown';

CREATE VIEW burnt AS
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
