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
    created_at bigint NOT NULL,
    book       bigint NOT NULL DEFAULT 0
);
CREATE TABLE books (
    id   bigint NOT NULL PRIMARY KEY,
    name text   NOT NULL,
    data text   NOT NULL
);
-- Points of a cache of balances (era E3), appended only. Nothing that decides reads it.
CREATE TABLE balance_projection (
    id         bigint  NOT NULL PRIMARY KEY,
    account    bigint  NOT NULL,
    subaccount bigint  NOT NULL,
    asset      integer NOT NULL,
    balance    text    NOT NULL,
    watermark  bigint  NOT NULL
);
CREATE INDEX balance_projection_at ON balance_projection (account, subaccount, asset, watermark, id);
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
