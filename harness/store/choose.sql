-- What choosing a preset reads and writes beside what tuning reads.

-- name: observed_preset
SELECT data FROM presets WHERE preset_hash = $hash;

-- name: threshold_was_read
SELECT DISTINCT e.content_hash
FROM mechanism_events m JOIN episodes e USING (run_id, episode_id)
WHERE m.run_id = $run AND e.preset = $preset AND e.observe AND m.mechanism = 'structured_issues'
  AND m.trigger = 'issues' AND m.event IN ('conflict', 'nothing_to_fix');

-- name: forget_tuning
DELETE FROM tuning WHERE run_id = $run;
