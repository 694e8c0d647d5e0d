CREATE TABLE jobs (
    id       bigint PRIMARY KEY,
    state    text   NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'done')),
    worker   text,
    attempts int    NOT NULL DEFAULT 0
);
