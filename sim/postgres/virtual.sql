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

-- Which process each session is, and back: simrun sends the setting simrun.pids with statements that may ask.
CREATE FUNCTION simrun.process_of(pid int) RETURNS int LANGUAGE sql STABLE AS $$
	SELECT pg_catalog.split_part(p.process, '=', 2)::int
	FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('simrun.pids'), ',')) AS p(process)
	WHERE pg_catalog.split_part(p.process, '=', 1) = pid::text
$$;
CREATE FUNCTION simrun.pid_of(process int) RETURNS int LANGUAGE sql STABLE AS $$
	SELECT pg_catalog.split_part(p.process, '=', 1)::int
	FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('simrun.pids'), ',')) AS p(process)
	WHERE pg_catalog.split_part(p.process, '=', 2) = pid_of.process::text
$$;
CREATE FUNCTION simrun.pg_blocking_pids(pid int) RETURNS int[] LANGUAGE sql VOLATILE STRICT AS $$
	SELECT COALESCE(pg_catalog.array_agg(DISTINCT simrun.pid_of(b.process) ORDER BY simrun.pid_of(b.process)), '{}')
	FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(simrun.process_of(pg_blocking_pids.pid))) AS b(process)
$$;

-- The locks of sessions on what the scenario has made, as for the comparison of locks.
CREATE VIEW simrun.pg_locks AS
	SELECT l.locktype, l.database, l.relation, l.page, l.tuple, l.virtualxid, l.transactionid, l.classid, l.objid, l.objsubid,
		l.virtualtransaction, simrun.pid_of(l.pid) AS pid, l.mode, l.granted, l.fastpath, l.waitstart
	FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
	WHERE simrun.pid_of(l.pid) IS NOT NULL AND l.locktype <> 'virtualxid' AND l.mode <> 'SIReadLock'
		AND (l.relation IS NULL OR l.relation >= 16384 AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relnamespace <> 'simrun'::pg_catalog.regnamespace);
GRANT SELECT ON simrun.pg_locks TO PUBLIC;

-- simrun is told of signals by a message that it does not show, before a session ends itself and after it has signalled another.
CREATE FUNCTION simrun.pg_cancel_backend(pid int) RETURNS bool LANGUAGE plpgsql VOLATILE STRICT AS $$
DECLARE
	process int := simrun.process_of(pid);
BEGIN
	IF process IS NULL THEN
		RAISE WARNING 'PID % is not a PostgreSQL backend process', pid;
		RETURN false;
	END IF;
	PERFORM pg_catalog.pg_cancel_backend(process);
	RAISE INFO USING ERRCODE = 'SIMSG', MESSAGE = 'cancel ' || pid;
	RETURN true;
END $$;
CREATE FUNCTION simrun.pg_terminate_backend(pid int, timeout bigint DEFAULT 0) RETURNS bool LANGUAGE plpgsql VOLATILE STRICT AS $$
DECLARE
	process int;
BEGIN
	IF timeout < 0 THEN
		RAISE EXCEPTION USING ERRCODE = '22003', MESSAGE = '"timeout" must not be negative';
	END IF;
	process := simrun.process_of(pid);
	IF process IS NULL THEN
		RAISE WARNING 'PID % is not a PostgreSQL backend process', pid;
		RETURN false;
	END IF;
	IF process = pg_catalog.pg_backend_pid() THEN
		RAISE INFO USING ERRCODE = 'SIMSG', MESSAGE = 'terminate ' || pid;
	END IF;
	PERFORM pg_catalog.pg_terminate_backend(process);
	RAISE INFO USING ERRCODE = 'SIMSG', MESSAGE = 'terminate ' || pid;
	RETURN true;
END $$;

-- Processes are the sessions, by the number that pg_backend_pid() gives them (it is at the end of application_name).
CREATE VIEW simrun.pg_stat_activity AS
	SELECT a.datid, a.datname, pg_catalog.split_part(a.application_name, '/', 2)::int AS pid, a.usesysid, a.usename, a.application_name,
		CASE WHEN a.xact_start IS NOT NULL THEN (SELECT pg_catalog.split_part(t.start, '=', 2)::timestamptz
			FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('simrun.starts'), ',')) AS t(start)
			WHERE pg_catalog.split_part(t.start, '=', 1) = pg_catalog.split_part(a.application_name, '/', 2)) END AS xact_start,
		a.query_start, a.state_change,
		CASE WHEN a.state LIKE 'idle%' THEN 'Client' ELSE a.wait_event_type END AS wait_event_type,
		CASE WHEN a.state LIKE 'idle%' THEN 'ClientRead' ELSE a.wait_event END AS wait_event, a.state, a.backend_xid, a.backend_xmin, a.query, a.backend_type
	FROM pg_catalog.pg_stat_activity a
	WHERE a.datname = pg_catalog.current_database() AND a.application_name LIKE 'simrun/%';
GRANT SELECT ON simrun.pg_stat_activity TO PUBLIC;
