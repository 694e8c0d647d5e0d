-- One ring's cursor as 0.6 made it: the columns are all there is.
CREATE TABLE {ring}_ring_state (
    singleton    boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    slot_count   integer NOT NULL,
    current_slot integer NOT NULL,
    generation   bigint  NOT NULL
);

CREATE TABLE {ring}_ring_slots (
    slot       integer PRIMARY KEY,
    generation bigint  NOT NULL DEFAULT -1
);
