-- The lanes: a lane is a shard of a queue. Positions are handed out and consumed by sequences, whose moves are visible at
-- once and are never rolled back. A sequence's last value is the last position handed out, or consumed.
CREATE TABLE queue_enqueue_heads (
    queue text NOT NULL, shard integer NOT NULL, seq_name text NOT NULL,
    PRIMARY KEY (queue, shard)
);

CREATE TABLE queue_claim_heads (
    queue text NOT NULL, shard integer NOT NULL, seq_name text NOT NULL,
    PRIMARY KEY (queue, shard)
);
