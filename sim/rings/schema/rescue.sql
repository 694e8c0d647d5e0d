-- Where the rescue sweeps of a claim slot stand. 0.6.2 knows the first, not the second.
ALTER TABLE claim_ring_slots ADD COLUMN stale_cursor_job bigint;
ALTER TABLE claim_ring_slots ADD COLUMN batch_cursor_seq bigint;
