-- What every storage encoding shares. No foreign keys, no sequences.
CREATE TABLE accounts (
    id         bigint   NOT NULL,
    subaccount bigint   NOT NULL,
    version    bigint   NOT NULL,
    policy     text     NOT NULL,
    flags      integer  NOT NULL,
    PRIMARY KEY (id, subaccount, version)
);
CREATE TABLE account_head (
    id         bigint NOT NULL,
    subaccount bigint NOT NULL,
    version    bigint NOT NULL,
    PRIMARY KEY (id, subaccount)
);
CREATE TABLE transfers (
    id         text   NOT NULL PRIMARY KEY,
    transfer   text   NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE transfer_accounts (
    transfer_id text   NOT NULL,
    account_id  bigint NOT NULL,
    subaccount  bigint NOT NULL,
    PRIMARY KEY (transfer_id, account_id, subaccount)
);
CREATE TABLE sagas (
    id   bigint NOT NULL PRIMARY KEY,
    data text   NOT NULL
);
CREATE TABLE events (
    seq       bigint NOT NULL PRIMARY KEY,
    at        bigint NOT NULL,
    kind      text   NOT NULL,
    data      text   NOT NULL,
    dedup_key text   UNIQUE
);
