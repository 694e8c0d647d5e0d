-- The families of the claim ring. No row carries a claim generation; rows carry the reference to the ready row.
CREATE TABLE lease_claims (
    claim_slot integer NOT NULL, job bigint NOT NULL, run_lease integer NOT NULL,
    ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, lane_seq bigint NOT NULL,
    PRIMARY KEY (claim_slot, job, run_lease)
) PARTITION BY LIST (claim_slot);

-- A compact claim: positions first_seq .. first_seq + claimed_count - 1 of a lane. The jobs are found in the ready rows.
CREATE TABLE lease_claim_batches (
    claim_slot integer NOT NULL, ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, first_seq bigint NOT NULL, claimed_count integer NOT NULL,
    PRIMARY KEY (claim_slot, queue, shard, first_seq)
) PARTITION BY LIST (claim_slot);

CREATE TABLE lease_claim_closures (
    claim_slot integer NOT NULL, job bigint NOT NULL, run_lease integer NOT NULL,
    PRIMARY KEY (claim_slot, job, run_lease)
) PARTITION BY LIST (claim_slot);

-- A compact closure of positions first_seq .. first_seq + closed_count - 1.
CREATE TABLE lease_claim_closure_batches (
    claim_slot integer NOT NULL, ready_slot integer NOT NULL, ready_generation bigint NOT NULL,
    queue text NOT NULL, shard integer NOT NULL, first_seq bigint NOT NULL, closed_count integer NOT NULL
) PARTITION BY LIST (claim_slot);
