-- Two index tables (era E2): postings is append-only; membership of the index tables is the state. The index tables carry
-- full copies of the rows, so that hot reads do not join.
CREATE TABLE postings (
    transfer_id text     NOT NULL,
    idx         smallint NOT NULL,
    owner       bigint   NOT NULL,
    subaccount  bigint   NOT NULL,
    asset       integer  NOT NULL,
    value       text     NOT NULL,
    PRIMARY KEY (transfer_id, idx)
);
CREATE INDEX postings_owner ON postings (owner, subaccount, asset);
CREATE TABLE active_postings (
    transfer_id text     NOT NULL,
    idx         smallint NOT NULL,
    owner       bigint   NOT NULL,
    subaccount  bigint   NOT NULL,
    asset       integer  NOT NULL,
    value       text     NOT NULL,
    PRIMARY KEY (transfer_id, idx)
);
CREATE INDEX active_postings_owner ON active_postings (owner, subaccount, asset);
CREATE TABLE reserved_postings (
    transfer_id text     NOT NULL,
    idx         smallint NOT NULL,
    owner       bigint   NOT NULL,
    subaccount  bigint   NOT NULL,
    asset       integer  NOT NULL,
    value       text     NOT NULL,
    reservation bigint   NOT NULL,
    PRIMARY KEY (transfer_id, idx)
);
CREATE INDEX reserved_postings_owner ON reserved_postings (owner, subaccount, asset);
