-- Terminal counts. Live counts are of rows still in the ring; rollups are of rows that were pruned; rollup deltas are what
-- prune appended and no fold has moved into the rollups yet.
CREATE TABLE queue_terminal_live_counts (
    ready_slot integer NOT NULL, queue text NOT NULL, completed bigint NOT NULL, failed bigint NOT NULL,
    PRIMARY KEY (ready_slot, queue)
);

CREATE TABLE queue_terminal_rollups (
    queue text PRIMARY KEY,
    pruned_completed_count bigint NOT NULL DEFAULT 0,
    pruned_failed_count    bigint NOT NULL DEFAULT 0
);

CREATE TABLE queue_terminal_rollup_deltas (
    queue text NOT NULL, completed_delta bigint NOT NULL, failed_delta bigint NOT NULL
);

ALTER TABLE queue_ring_state ADD COLUMN terminal_counter_trusted_at timestamptz;
