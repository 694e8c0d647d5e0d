-- The families of the queue ring. Every row carries the generation under which it was routed; no key does.
CREATE TABLE ready_entries (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, lane_seq bigint NOT NULL,
    job bigint NOT NULL, run_lease integer NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, lane_seq)
) PARTITION BY LIST (ready_slot);

-- Evidence that a range of lane positions was claimed.
CREATE TABLE ready_claim_attempt_batches (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, first_seq)
) PARTITION BY LIST (ready_slot);

CREATE TABLE done_entries (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, lane_seq bigint NOT NULL,
    job bigint NOT NULL, state text NOT NULL, finalized_at timestamptz NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, lane_seq)
) PARTITION BY LIST (ready_slot);

CREATE TABLE ready_tombstones (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, lane_seq bigint NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, lane_seq)
) PARTITION BY LIST (ready_slot);

-- Where the positions of a lane are: the claimer's way from a position to a slot.
CREATE TABLE ready_segments (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, first_seq bigint NOT NULL, last_seq bigint NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, first_seq)
) PARTITION BY LIST (ready_slot);

-- Compact completions: a count for each completing statement.
CREATE TABLE receipt_completion_batches (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, first_seq bigint NOT NULL, completed_count integer NOT NULL,
    PRIMARY KEY (ready_slot, queue, shard, first_seq)
) PARTITION BY LIST (ready_slot);

-- What the counters have not counted yet.
CREATE TABLE queue_terminal_count_deltas (
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, completed_delta bigint NOT NULL, failed_delta bigint NOT NULL
) PARTITION BY LIST (ready_slot);
