-- Which binaries are alive, as 0.6 made it, and the functions that every version has.
CREATE TABLE runtime_instances (
    instance_id  text PRIMARY KEY,
    version      text NOT NULL,
    healthy      boolean NOT NULL DEFAULT true,
    last_seen_at timestamptz NOT NULL
);

