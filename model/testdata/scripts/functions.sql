# SQL functions and PL/pgSQL.
setup: CREATE TABLE t (k int PRIMARY KEY, v text)
setup: INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')
a: CREATE FUNCTION add(a int, b int DEFAULT 10) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + b'
a: SELECT add(1, 2), add(1), add(NULL, 1)
a: SELECT add('x', 1)
a: SELECT add(1, 2, 3)
a: SELECT add(1.5)
a: CREATE FUNCTION name_of(int) RETURNS text LANGUAGE sql STABLE STRICT AS $$ SELECT v FROM t WHERE k = $1 $$
a: SELECT name_of(2), name_of(9), name_of(NULL), k FROM t WHERE name_of(k) = 'two'
a: CREATE FUNCTION rows_over(n int) RETURNS SETOF t LANGUAGE sql AS $$ SELECT * FROM t WHERE k > n ORDER BY k $$
a: SELECT * FROM rows_over(1)
a: SELECT v FROM rows_over(0) r WHERE r.k < 3
a: CREATE FUNCTION pairs(OUT a int, OUT b text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT k, v FROM t ORDER BY k DESC LIMIT 2 $$
a: SELECT * FROM pairs()
a: CREATE FUNCTION tab(n int) RETURNS TABLE (x int, y int) LANGUAGE sql AS $$ SELECT n, n * 2 UNION ALL SELECT n + 1, 0 $$
a: SELECT * FROM tab(4)
a: SELECT y FROM t, tab(t.k) WHERE k < 3 ORDER BY 1
a: CREATE FUNCTION put(n int, s text) RETURNS int LANGUAGE sql AS $$ INSERT INTO t VALUES (n, s); SELECT count(*)::int FROM t $$
a: SELECT put(4, 'four')
a: SELECT put(4, 'four')
a: CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS $$ SELECT 'x'::text $$
a: CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS $$ SELECT nope FROM t $$
a: CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT 1'
a: CREATE OR REPLACE FUNCTION add(a int, b int DEFAULT 10) RETURNS int LANGUAGE sql AS 'SELECT a * b'
a: CREATE OR REPLACE FUNCTION add(a int, b int) RETURNS text LANGUAGE sql AS 'SELECT 1::text'
a: SELECT add(3, 4)
a: DROP FUNCTION add(int)
a: DROP FUNCTION add(int, int)
a: DROP FUNCTION IF EXISTS add(int, int)
# PL/pgSQL
a: CREATE FUNCTION fact(n int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r bigint := 1; BEGIN FOR i IN 2..n LOOP r := r * i; END LOOP; RETURN r; END $$
a: SELECT fact(5), fact(0), fact(20)
a: SELECT fact(21)
a: CREATE FUNCTION grade(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n < 0 THEN RAISE EXCEPTION 'negative: %', n USING ERRCODE = '22023', DETAIL = 'd', HINT = 'h'; ELSIF n < 10 THEN RETURN 'low'; ELSE CASE n WHEN 10, 11 THEN RETURN 'mid'; ELSE RETURN 'high'; END CASE; END IF; END $$
a: SELECT grade(5), grade(11), grade(50), grade(NULL)
a: SELECT grade(-1)
a: CREATE FUNCTION look(n int, OUT name text, OUT found_it boolean) LANGUAGE plpgsql STABLE AS $$ BEGIN SELECT v INTO name FROM t WHERE k = n; found_it := FOUND; END $$
a: SELECT * FROM look(2)
a: SELECT * FROM look(77)
a: CREATE FUNCTION strictly(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN SELECT v INTO STRICT s FROM t WHERE k > n; RETURN s; END $$
a: SELECT strictly(3)
a: SELECT strictly(0)
a: SELECT strictly(100)
a: CREATE FUNCTION walk() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; s text := ''; n int; BEGIN FOR r IN SELECT k, v FROM t ORDER BY k LOOP CONTINUE WHEN r.k = 2; s := s || r.k || r.v || ','; EXIT WHEN r.k >= 3; END LOOP; UPDATE t SET v = v WHERE k < 3; GET DIAGNOSTICS n = ROW_COUNT; RETURN s || n; END $$
a: SELECT walk()
a: CREATE FUNCTION ins(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE id int; BEGIN INSERT INTO t VALUES (n, 'new') RETURNING k INTO id; RETURN 'inserted ' || id; EXCEPTION WHEN unique_violation THEN RETURN 'dup ' || SQLSTATE || ' ' || SQLERRM; END $$
a: SELECT ins(5), ins(1)
a: SELECT * FROM t WHERE k >= 5
a: CREATE FUNCTION sub() RETURNS text LANGUAGE plpgsql AS $$ DECLARE m text; BEGIN INSERT INTO t VALUES (100, 'kept'); BEGIN INSERT INTO t VALUES (101, 'lost'); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero OR SQLSTATE '40001' THEN GET STACKED DIAGNOSTICS m = MESSAGE_TEXT; RAISE NOTICE 'caught %', m; END; BEGIN RAISE EXCEPTION 'own'; EXCEPTION WHEN OTHERS THEN RAISE WARNING 'again % %', SQLSTATE, SQLERRM; END; RETURN m; END $$
a: SELECT sub()
a: SELECT k FROM t WHERE k >= 100
a: CREATE FUNCTION rethrow() RETURNS void LANGUAGE plpgsql AS $$ BEGIN BEGIN RAISE unique_violation USING MESSAGE = 'mine', CONSTRAINT = 'c'; EXCEPTION WHEN unique_violation THEN RAISE; END; END $$
a: SELECT rethrow()
a: CREATE FUNCTION evens(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN FOR i IN REVERSE n..1 LOOP IF i % 2 = 0 THEN RETURN NEXT i; END IF; END LOOP; RETURN QUERY SELECT k FROM t WHERE k < 3 ORDER BY k; RETURN; END $$
a: SELECT * FROM evens(6)
a: CREATE FUNCTION tb(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN a := n; b := 'first'; RETURN NEXT; RETURN QUERY SELECT k, v FROM t WHERE k = n; END $$
a: SELECT * FROM tb(2)
a: CREATE FUNCTION dyn(tab text, n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN EXECUTE format('SELECT v FROM %I WHERE k = $1', tab) INTO s USING n; RETURN s; END $$
a: SELECT dyn('t', 3), dyn('t', 99)
a: SELECT dyn('nope', 1)
a: CREATE FUNCTION arr(VARIADIC a int[]) RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; s int := 0; b int[]; BEGIN FOREACH x IN ARRAY a LOOP s := s + x; END LOOP; b[1] := s; b[3] := 1; RETURN b[1] + cardinality(b); END $$
a: SELECT arr(1, 2, 3), arr(VARIADIC ARRAY[5])
a: CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql AS $$
a: CREATE FUNCTION noret() RETURNS int LANGUAGE plpgsql AS $$ BEGIN NULL; END $$
a: SELECT noret()
a: CREATE FUNCTION syn() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETRUN 1; END $$
a: CREATE FUNCTION amb(k int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT v FROM t WHERE k = 1); END $$
a: SELECT amb(1)
a: CREATE FUNCTION qual(k int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT v FROM t WHERE t.k = qual.k); END $$
a: SELECT qual(2)
a: CREATE FUNCTION loops() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int := 0; s text := ''; BEGIN WHILE n < 3 LOOP n := n + 1; END LOOP; <<out>> LOOP FOR i IN 1..5 LOOP s := s || i; EXIT out WHEN i = 3; END LOOP; END LOOP; FOR i IN 1..10 BY 4 LOOP s := s || '.' || i; END LOOP; RETURN s || n; END $$
a: SELECT loops()
a: CREATE FUNCTION rowvar() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r t%ROWTYPE; x t.v%TYPE; BEGIN SELECT * INTO r FROM t WHERE k = 1; x := r.v; RETURN x || r.k; END $$
a: SELECT rowvar()
a: CREATE FUNCTION notyet() RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN RETURN r.x; END $$
a: SELECT notyet()
a: CREATE FUNCTION ass() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ASSERT 1 = 2, 'no way'; END $$
a: SELECT ass()
a: DO $$ BEGIN RAISE NOTICE 'hello % %', 1, NULL; INSERT INTO t VALUES (200, 'do'); END $$
a: SELECT v FROM t WHERE k = 200
a: DO $$ DECLARE c int; BEGIN SELECT count(*) INTO c FROM t; IF c > 3 THEN RAISE EXCEPTION 'many'; END IF; END $$
a: CREATE FUNCTION ctype() RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int := '12x'; BEGIN RETURN n; END $$
a: SELECT ctype()
a: CREATE FUNCTION nodest() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SELECT 1; RETURN 1; END $$
a: SELECT nodest()
a: CREATE PROCEDURE proc(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (n, 'proc'); END $$
a: CALL proc(300)
a: SELECT v FROM t WHERE k = 300
# STABLE reads its caller's snapshot, VOLATILE what has committed since.
a: CREATE TABLE c (n int)
a: INSERT INTO c VALUES (1)
a: CREATE FUNCTION st() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT n FROM c); END $$
a: CREATE FUNCTION vo() RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN (SELECT n FROM c); END $$
a: CREATE FUNCTION bump() RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE c SET n = n + 1; RETURN 0; END $$
a: SELECT bump(), st(), vo()
a: SELECT bump(), (SELECT n FROM c)
a: CREATE FUNCTION stupd() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN UPDATE c SET n = 0; RETURN 1; END $$
a: SELECT stupd()
b: BEGIN
b: SELECT * FROM t WHERE k = 1 FOR UPDATE
a: SELECT pg_advisory_xact_lock(1), 5
a: CREATE FUNCTION waits() RETURNS text LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v || '+' WHERE k = 1; RETURN st()::text || vo()::text; END $$
a: SELECT waits()
b: UPDATE c SET n = 50
b: COMMIT
a: DROP FUNCTION bump, st
