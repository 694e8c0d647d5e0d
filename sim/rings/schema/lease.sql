-- The family of the lease ring: jobs that run under a heartbeat.
CREATE TABLE leases (
    lease_slot integer NOT NULL, lease_generation bigint NOT NULL,
    job bigint NOT NULL, run_lease integer NOT NULL,
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, lane_seq bigint NOT NULL,
    PRIMARY KEY (lease_slot, job, run_lease)
) PARTITION BY LIST (lease_slot);
