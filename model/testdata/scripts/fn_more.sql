# More of functions: what systems lean on.
setup: CREATE TABLE authority (singleton bool PRIMARY KEY, authority text)
setup: CREATE TABLE state (singleton bool PRIMARY KEY, slot int, gen bigint)
setup: CREATE TABLE ledger (gen bigint PRIMARY KEY, slot int, at timestamptz DEFAULT clock_timestamp())
setup: INSERT INTO authority VALUES (true, 'columns')
setup: INSERT INTO state VALUES (true, 1, 5)
setup: INSERT INTO ledger VALUES (7, 3), (6, 2)
setup: CREATE FUNCTION ring_cursor(ring text, OUT slot int, OUT generation bigint) LANGUAGE plpgsql STABLE SET search_path TO public AS $$ DECLARE mode text; BEGIN IF ring <> 'queue' THEN RAISE EXCEPTION 'unknown ring %', ring USING ERRCODE = '22023'; END IF; SELECT a.authority INTO mode FROM authority a; IF mode = 'ledger' THEN SELECT l.slot, l.gen INTO slot, generation FROM ledger l ORDER BY l.gen DESC LIMIT 1; ELSE SELECT s.slot, s.gen INTO slot, generation FROM state s; END IF; END $$
a: SELECT slot, generation FROM ring_cursor('queue')
a: SELECT slot, generation FROM ring_cursor($1) -- args ["queue"]
a: SELECT slot FROM ring_cursor('nope')
a: BEGIN
a: UPDATE authority SET authority = 'ledger'
b: SELECT slot, generation FROM ring_cursor('queue')
a: SELECT slot, generation FROM ring_cursor('queue')
a: COMMIT
b: WITH c AS MATERIALIZED (SELECT * FROM ring_cursor('queue')) INSERT INTO ledger (gen, slot) SELECT generation + 1, slot + 1 FROM c RETURNING gen, slot
b: SELECT c.slot, s.slot FROM state s, ring_cursor('queue') c
b: SELECT count(*) FROM ledger l WHERE l.gen = (SELECT generation FROM ring_cursor('queue'))
a: CREATE FUNCTION rank(v text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT CASE WHEN v ~ '^[0-9]+\.[0-9]+\.[0-9]+' THEN split_part(v, '.', 1)::bigint * 1000000 + split_part(v, '.', 2)::bigint * 1000 + substring(split_part(v, '.', 3) from '^[0-9]+')::bigint END $$
a: SELECT rank('0.7.0'), rank('1.2.3-rc1'), rank('x'), rank(NULL)
# A function whose statements wait.
a: CREATE FUNCTION work(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; r record; BEGIN FOR r IN SELECT gen FROM ledger ORDER BY gen LOOP PERFORM pg_advisory_xact_lock(r.gen); UPDATE state SET gen = gen + 1 RETURNING gen INTO STRICT r; s := s || r.gen || ' '; END LOOP; RETURN s || n; END $$
b: BEGIN
b: UPDATE state SET gen = 100
a: SELECT work(1)
c: SELECT pg_try_advisory_lock(6)
b: COMMIT
c: SELECT pg_advisory_unlock_all()
a: SELECT gen FROM state
b: BEGIN
b: SELECT pg_advisory_xact_lock(7)
a: SELECT work(2)
b: ROLLBACK
# Exceptions undo what was done, and locks of the block go.
a: CREATE FUNCTION try() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN UPDATE state SET gen = -1; INSERT INTO ledger (gen, slot) VALUES (6, 0); EXCEPTION WHEN unique_violation THEN NULL; END; RETURN (SELECT gen::text FROM state); END $$
a: BEGIN
a: SELECT try()
b: UPDATE state SET slot = 9
a: COMMIT
a: CREATE FUNCTION nowait() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM * FROM state FOR UPDATE NOWAIT; RETURN 'got'; EXCEPTION WHEN lock_not_available THEN RETURN 'busy'; END $$
b: BEGIN
b: UPDATE state SET slot = 10
a: SELECT nowait()
b: COMMIT
a: SELECT nowait()
a: CREATE FUNCTION inner_ddl() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE made (x int); INSERT INTO made VALUES (4); RETURN (SELECT sum(x)::int FROM made); END $$
a: SELECT inner_ddl()
a: SELECT * FROM made
a: SELECT inner_ddl()
a: CREATE FUNCTION multi(INOUT a int, OUT b int) LANGUAGE plpgsql AS $$ BEGIN b := a * 2; a := a + 1; END $$
a: SELECT * FROM multi(4)
a: SELECT (multi(4)).b
a: CREATE FUNCTION lateral_use(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT generate_series(1, n); END $$
a: SELECT s.slot, x FROM state s, LATERAL lateral_use(2) x
a: SELECT lateral_use(3)
a: CREATE FUNCTION recur(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n <= 0 THEN RETURN 0; END IF; RETURN n + recur(n - 1); END $$
a: SELECT recur(10)
a: CREATE FUNCTION strictly(a int, b int) RETURNS int LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN a + b; END $$
a: SELECT strictly(1, NULL), strictly(1, 2)
a: CREATE FUNCTION case_none(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN CASE n WHEN 1 THEN RETURN 1; END CASE; END $$
a: SELECT case_none(2)
a: CREATE FUNCTION uses_found() RETURNS text LANGUAGE plpgsql AS $$ BEGIN UPDATE state SET slot = 1 WHERE false; IF NOT FOUND THEN RETURN 'none'; END IF; RETURN 'some'; END $$
a: SELECT uses_found()
a: CREATE FUNCTION cnt() RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN n := count(*) FROM ledger; RETURN n; END $$
a: SELECT cnt()
a: CREATE FUNCTION now_same() RETURNS bool LANGUAGE plpgsql AS $$ DECLARE t timestamptz := now(); BEGIN RETURN t = now() AND clock_timestamp() >= t; END $$
a: SELECT now_same()
