-- major * 1e6 + minor * 1e3 + patch; a pre-release or build suffix is ignored; NULL when v is no version.
CREATE FUNCTION semver_rank(v text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN v ~ '^[0-9]+[.][0-9]+[.][0-9]+([-+].*)?$' THEN
        split_part(v, '.', 1)::integer * 1000000
        + split_part(v, '.', 2)::integer * 1000
        + substring(split_part(v, '.', 3) from '^[0-9]+')::integer
    END
$$;

CREATE FUNCTION ring_authority_min_flip_version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '0.7.0'::text $$;
