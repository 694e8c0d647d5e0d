-- One live table (era E4, migration 008): reservation NULL is active, a token is reserved, no row is spent.
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
CREATE TABLE live_postings (
    transfer_id text     NOT NULL,
    idx         smallint NOT NULL,
    owner       bigint   NOT NULL,
    subaccount  bigint   NOT NULL,
    asset       integer  NOT NULL,
    value       text     NOT NULL,
    reservation bigint,
    PRIMARY KEY (transfer_id, idx)
);
CREATE INDEX live_postings_owner ON live_postings (owner, subaccount, asset);
