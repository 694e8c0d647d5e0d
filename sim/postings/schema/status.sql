-- Mutable status (era E1, before migration 004): 0 active, 1 pending, 2 inactive.
CREATE TABLE postings (
    transfer_id text     NOT NULL,
    idx         smallint NOT NULL,
    owner       bigint   NOT NULL,
    subaccount  bigint   NOT NULL,
    asset       integer  NOT NULL,
    value       text     NOT NULL,
    status      smallint NOT NULL,
    reservation bigint,
    PRIMARY KEY (transfer_id, idx)
);
CREATE INDEX postings_owner_status ON postings (owner, subaccount, asset, status);
