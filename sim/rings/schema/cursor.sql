-- One ring's cursor. {ring} is queue, lease or claim.
-- The columns current_slot and generation are the cursor of 0.6 and of "columns" authority; the greatest row of the
-- ledger is the cursor of "ledger" authority. The singleton row is also the lock that serialises the ring.
CREATE TABLE {ring}_ring_state (
    singleton    boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    slot_count   integer NOT NULL,
    current_slot integer NOT NULL,
    generation   bigint  NOT NULL
);

CREATE TABLE {ring}_ring_rotations (
    generation bigint  PRIMARY KEY,
    slot       integer NOT NULL
);

CREATE TABLE {ring}_ring_slots (
    slot       integer PRIMARY KEY,
    generation bigint  NOT NULL DEFAULT -1
);
