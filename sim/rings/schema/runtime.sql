-- Which binaries are alive.
-- binary_version is additive: the upsert of 0.6 does not name it, so its rows stay NULL.
CREATE TABLE runtime_instances (
    instance_id    text PRIMARY KEY,
    version        text NOT NULL,
    healthy        boolean NOT NULL DEFAULT true,
    last_seen_at   timestamptz NOT NULL,
    binary_version text
);

