-- Which representation of the cursors counts, for all three rings, and which binaries are alive.
CREATE TABLE ring_cursor_authority (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    authority  text    NOT NULL CHECK (authority IN ('columns', 'ledger')),
    flipped_at timestamptz
);

-- binary_version is additive: the upsert of 0.6 does not name it, so its rows stay NULL.
CREATE TABLE runtime_instances (
    instance_id    text PRIMARY KEY,
    version        text NOT NULL,
    healthy        boolean NOT NULL DEFAULT true,
    last_seen_at   timestamptz NOT NULL,
    binary_version text
);

-- major * 1e6 + minor * 1e3 + patch; a pre-release or build suffix is ignored; NULL when v is no version.
CREATE FUNCTION semver_rank(v text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN v ~ '^[0-9]+[.][0-9]+[.][0-9]+([-+].*)?$' THEN
        split_part(v, '.', 1)::integer * 1000000
        + split_part(v, '.', 2)::integer * 1000
        + substring(split_part(v, '.', 3) from '^[0-9]+')::integer
    END
$$;

CREATE FUNCTION ring_authority_min_flip_version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '0.7.0'::text $$;
