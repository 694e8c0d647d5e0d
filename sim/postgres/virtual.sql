-- What a scenario's sessions see of time and chance, answered from the simulation. The settings simrun.now (the time),
-- simrun.txn (the time when the transaction began) and simrun.pid are sent by simrun with a statement when they have changed.
CREATE SCHEMA simrun;
GRANT USAGE ON SCHEMA simrun TO PUBLIC;

CREATE FUNCTION simrun.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT pg_catalog.current_setting('simrun.txn')::pg_catalog.timestamptz $$;
CREATE FUNCTION simrun.transaction_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT pg_catalog.current_setting('simrun.txn')::pg_catalog.timestamptz $$;
CREATE FUNCTION simrun.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT pg_catalog.current_setting('simrun.now')::pg_catalog.timestamptz $$;
CREATE FUNCTION simrun.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
	AS $$ SELECT pg_catalog.current_setting('simrun.now')::pg_catalog.timestamptz $$;

CREATE FUNCTION simrun.pg_backend_pid() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT pg_catalog.current_setting('simrun.pid')::int $$;

-- A sequence, because chance is not undone by a rollback. The caller needs no right on it.
CREATE SEQUENCE simrun.uuids;
CREATE FUNCTION simrun.gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE SECURITY DEFINER
	AS $$ SELECT ('00000000-0000-4000-8000-' || pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.nextval('simrun.uuids')), 12, '0'))::pg_catalog.uuid $$;

-- The schedule fires timeouts, not the server: a timeout other than 0 is set to one that never comes.
CREATE FUNCTION simrun.set_config(name text, value text, is_local boolean) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	shown text := pg_catalog.set_config(name, value, is_local);
BEGIN
	IF pg_catalog.lower(name) IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout') AND shown <> '0' THEN
		PERFORM pg_catalog.set_config(name, '2000000000', is_local);
	END IF;
	RETURN shown;
END $$;

-- Processes are the sessions, by the number that pg_backend_pid() gives them (it is at the end of application_name).
CREATE VIEW simrun.pg_stat_activity AS
	SELECT a.datid, a.datname, pg_catalog.split_part(a.application_name, '/', 2)::int AS pid, a.usesysid, a.usename, a.application_name,
		CASE WHEN a.xact_start IS NOT NULL THEN (SELECT pg_catalog.split_part(t.start, '=', 2)::timestamptz
			FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('simrun.starts'), ',')) AS t(start)
			WHERE pg_catalog.split_part(t.start, '=', 1) = pg_catalog.split_part(a.application_name, '/', 2)) END AS xact_start,
		a.query_start, a.state_change, a.wait_event_type, a.wait_event, a.state, a.backend_xid, a.backend_xmin, a.query, a.backend_type
	FROM pg_catalog.pg_stat_activity a
	WHERE a.datname = pg_catalog.current_database() AND a.application_name LIKE 'simrun/%';
GRANT SELECT ON simrun.pg_stat_activity TO PUBLIC;
