-- The store: one DuckDB file. Times are integer ms, money is integer pico-USD, NULL is unknown,
-- iterations count from 1. Rows of an episode are written together or not at all.
-- `harness docs tables` prints this file's comments.

CREATE TABLE IF NOT EXISTS store_meta (
    key   VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE store_meta IS 'Version of the schema and of the harness that made the store';

CREATE TABLE IF NOT EXISTS runs (
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

CREATE TABLE IF NOT EXISTS baselines (
    name       VARCHAR PRIMARY KEY,
    run_id     VARCHAR NOT NULL,
    blessed_ms BIGINT NOT NULL
);
COMMENT ON TABLE baselines IS 'Runs that were accepted under a name, to compare later ones with';

CREATE TABLE IF NOT EXISTS labels (
    content_hash   VARCHAR NOT NULL,
    exit_reason    VARCHAR NOT NULL,
    exit_iteration INTEGER NOT NULL,
    label          VARCHAR NOT NULL,
    note           VARCHAR NOT NULL,
    scenario       VARCHAR NOT NULL,
    labelled_ms    BIGINT NOT NULL,
    PRIMARY KEY (content_hash, exit_reason, exit_iteration)
);
COMMENT ON TABLE labels IS 'What a reader said of a stop: it holds for every episode of the same content that ends there for this reason';
COMMENT ON COLUMN labels.label IS 'right, false (going on would have paid) or late';

CREATE TABLE IF NOT EXISTS presets (
    preset_hash VARCHAR NOT NULL,
    name        VARCHAR NOT NULL,
    title       VARCHAR NOT NULL,
    data        VARCHAR NOT NULL
);
COMMENT ON TABLE presets IS 'Resolved presets, each content once';
COMMENT ON COLUMN presets.data IS 'JSON: guards with thresholds and settings, mechanisms';

CREATE TABLE IF NOT EXISTS scenarios (
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
    recorded     VARCHAR NOT NULL,
    limits       VARCHAR NOT NULL
);
COMMENT ON TABLE scenarios IS 'Scenarios replayed, each content once';
COMMENT ON COLUMN scenarios.truth IS 'JSON: what a sensible user expects, NULL if nobody said';
COMMENT ON COLUMN scenarios.recorded IS 'JSON: what the real run did, where known';
COMMENT ON COLUMN scenarios.limits IS 'JSON: limits that the task itself sets, which override a preset''s';

CREATE TABLE IF NOT EXISTS episodes (
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

CREATE TABLE IF NOT EXISTS iterations (
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
COMMENT ON COLUMN iterations.branch IS 'Where in the recording: empty for the trunk, else switch_strategy[0], ...; live where a model went on';
COMMENT ON COLUMN iterations.step IS 'Step of that branch, from 1';
COMMENT ON COLUMN iterations.path IS 'Row of the decision chain, 0 to 10';
COMMENT ON COLUMN iterations.exit_reason IS 'What would have ended the loop here, NULL if nothing';
COMMENT ON COLUMN iterations.conditions IS 'JSON: all that was true or unknown: kind, name, reason, action, state; the winner is marked';
COMMENT ON COLUMN iterations.reply_hash IS 'Texts by messages.hash';
COMMENT ON COLUMN iterations.overlap IS 'Share of a person''s message that occurs in the goal, NULL where nobody spoke';
COMMENT ON COLUMN iterations.work_order IS 'Text ahead of the actor''s input (messages.hash)';

CREATE TABLE IF NOT EXISTS guard_series (
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

CREATE TABLE IF NOT EXISTS calls (
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
    with_args   VARCHAR,
    with_result VARCHAR,
    normalised  VARCHAR,
    error       VARCHAR
);
-- Older stores of this version had them NOT NULL.
ALTER TABLE calls ALTER COLUMN with_args DROP NOT NULL;
ALTER TABLE calls ALTER COLUMN with_result DROP NOT NULL;
ALTER TABLE calls ALTER COLUMN normalised DROP NOT NULL;
COMMENT ON TABLE calls IS 'Tool calls with their fingerprints';
COMMENT ON COLUMN calls.action IS 'Fingerprint by kind and tool; with_args adds arguments, with_result the result, normalised the result without what moves; NULL where that was not captured';
COMMENT ON COLUMN calls.error IS 'Signature of the failure, NULL if it succeeded or said nothing';

CREATE TABLE IF NOT EXISTS llm_calls (
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

CREATE TABLE IF NOT EXISTS messages (
    hash UBIGINT NOT NULL,
    text VARCHAR NOT NULL
);
COMMENT ON TABLE messages IS 'Every text once, by content hash';

CREATE TABLE IF NOT EXISTS checks (
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

CREATE TABLE IF NOT EXISTS mechanism_events (
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

CREATE TABLE IF NOT EXISTS lessons (
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

CREATE TABLE IF NOT EXISTS continuations (
    run_id       VARCHAR NOT NULL,
    episode_id   VARCHAR NOT NULL,
    continued_at INTEGER NOT NULL,
    cause        VARCHAR NOT NULL,
    model        VARCHAR NOT NULL
);
COMMENT ON TABLE continuations IS 'Episodes that a live model went on with where their recording ended or was left';
COMMENT ON COLUMN continuations.continued_at IS 'First iteration that was made live; from here on iterations.branch is live';
COMMENT ON COLUMN continuations.cause IS 'Why the recording was left: recording_exhausted, switch_strategy, delegate or nudge';
COMMENT ON COLUMN continuations.model IS 'Model that acted';

CREATE TABLE IF NOT EXISTS readings (
    content_hash VARCHAR NOT NULL,
    base         VARCHAR NOT NULL,
    kind         VARCHAR NOT NULL,
    settings     VARCHAR NOT NULL,
    signals      DOUBLE[] NOT NULL
);
COMMENT ON TABLE readings IS 'Signals of guards that no run observed, worked out from the recordings for tuning; may be deleted';
COMMENT ON COLUMN readings.base IS 'Hash of all else that a signal depends on: mechanisms, models, waiting time, normalisation, version';
COMMENT ON COLUMN readings.settings IS 'JSON: structural settings, those of a combination''s parts included';

CREATE TABLE IF NOT EXISTS spans (
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

CREATE TABLE IF NOT EXISTS tuning (
    run_id             VARCHAR NOT NULL,
    grouping           VARCHAR NOT NULL,
    role               VARCHAR NOT NULL,
    part               VARCHAR NOT NULL,
    words              VARCHAR NOT NULL,
    preset             VARCHAR,
    objective          VARCHAR NOT NULL,
    unit               VARCHAR NOT NULL,
    episodes           BIGINT NOT NULL,
    tasks              BIGINT NOT NULL,
    iterations         BIGINT NOT NULL,
    cost_pico_usd      BIGINT NOT NULL,
    role_cost_pico_usd BIGINT NOT NULL,
    tokens             BIGINT NOT NULL,
    saved_pico_usd     BIGINT NOT NULL,
    judged             BIGINT NOT NULL,
    false_stops        BIGINT NOT NULL,
    false_low          DOUBLE,
    false_high         DOUBLE,
    best_score         DOUBLE,
    lost               DOUBLE,
    success_low        BIGINT NOT NULL,
    success_high       BIGINT NOT NULL,
    exact              BIGINT NOT NULL,
    censored           BIGINT NOT NULL,
    diverged           BIGINT NOT NULL,
    reasons            VARCHAR NOT NULL
);
COMMENT ON TABLE tuning IS 'What `harness tune` found last in a run: policies on both sides of the first split';
COMMENT ON COLUMN tuning.grouping IS 'Group that the preset is for; empty for the common one';
COMMENT ON COLUMN tuning.role IS 'chosen, to the end, fixed steps, current, oracle, or front';
COMMENT ON COLUMN tuning.part IS 'train (chosen by) or held_out';
COMMENT ON COLUMN tuning.preset IS 'JSON of the preset, NULL for what is none';
COMMENT ON COLUMN tuning.unit IS 'What was saved: cost, tokens or iterations';
COMMENT ON COLUMN tuning.cost_pico_usd IS 'Of all roles, the known part; role_cost_pico_usd is what others than the actor took of it';
COMMENT ON COLUMN tuning.saved_pico_usd IS 'Against running to the end';
COMMENT ON COLUMN tuning.judged IS 'Episodes of which a false stop can be told';
COMMENT ON COLUMN tuning.false_low IS '95 % interval of the share of false stops, by task';
COMMENT ON COLUMN tuning.lost IS 'How much better the best score of the whole recording is, mean over scored episodes';
COMMENT ON COLUMN tuning.success_low IS 'Certain successes; success_high are possible ones, early stops among them';
COMMENT ON COLUMN tuning.reasons IS 'JSON: exit reasons with their counts';
