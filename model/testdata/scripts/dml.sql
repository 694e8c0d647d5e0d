setup: CREATE TABLE t (k int PRIMARY KEY, v int DEFAULT 7, s text)
setup: CREATE TABLE log (id serial PRIMARY KEY, k int, what text)
setup: CREATE TABLE q (id bigint GENERATED ALWAYS AS IDENTITY, u int UNIQUE)
a: INSERT INTO t (k) VALUES (1), (2) RETURNING *
a: INSERT INTO t VALUES (3, DEFAULT, 'three') RETURNING k, v + 1 AS w
a: INSERT INTO t DEFAULT VALUES
a: INSERT INTO t SELECT g, g * 10 FROM generate_series(4, 6) g
a: INSERT INTO t VALUES (1, 100) ON CONFLICT DO NOTHING
a: INSERT INTO t VALUES (1, 100) ON CONFLICT (k) DO UPDATE SET v = excluded.v + t.v RETURNING *
a: INSERT INTO t VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET v = 0 WHERE t.v < 50 RETURNING *
a: INSERT INTO t VALUES (9, 9) ON CONFLICT (k) DO UPDATE SET v = 0 RETURNING *
a: UPDATE t SET v = v + 1 WHERE k <= 2 RETURNING k, v
a: UPDATE t SET (v, s) = (1, 'x') WHERE k = 3 RETURNING *
a: UPDATE t SET (v, s) = (SELECT 2, 'y') WHERE k = 3 RETURNING *
a: UPDATE t SET v = x.n FROM (VALUES (4, 44), (5, 55)) AS x(id, n) WHERE t.k = x.id RETURNING t.*, x.n
a: DELETE FROM t USING t AS o WHERE t.k = o.k AND o.v = 55 RETURNING t.k
a: WITH d AS (DELETE FROM t WHERE k = 6 RETURNING *) INSERT INTO log (k, what) SELECT k, 'deleted' FROM d RETURNING *
a: WITH i AS (INSERT INTO t VALUES (20, 20) RETURNING k) SELECT (SELECT count(*) FROM t) AS seen, k FROM i
a: WITH u AS (UPDATE t SET v = 0 WHERE k = 20 RETURNING v), d AS (DELETE FROM t WHERE k = 9) SELECT v FROM u
a: SELECT * FROM t ORDER BY k
a: SELECT * FROM log
a: INSERT INTO q (u) VALUES (1) RETURNING *
a: INSERT INTO q VALUES (5, 2)
a: INSERT INTO q OVERRIDING SYSTEM VALUE VALUES (5, 2) RETURNING *
a: INSERT INTO q (u) VALUES (2)
a: INSERT INTO q (u) VALUES (3) RETURNING id
a: SELECT currval('log_id_seq'), nextval('log_id_seq'), lastval()
a: SELECT setval('log_id_seq', 100), nextval('log_id_seq')
a: INSERT INTO t VALUES ($1, $2, $3) RETURNING * -- args [30, null, "thirty"]
a: UPDATE t SET v = $2 WHERE k = $1 -- args [30, 31]
a: DELETE FROM t WHERE k = $1 RETURNING * -- args [30]
a: BEGIN
a: UPDATE t SET k = k + 100 WHERE k = 1
a: SAVEPOINT s
a: DELETE FROM t
a: ROLLBACK TO s
a: SELECT k FROM t ORDER BY k
a: COMMIT
a: TRUNCATE t
a: SELECT count(*) FROM t
a: BEGIN
a: INSERT INTO t VALUES (1)
a: TRUNCATE t, log RESTART IDENTITY
a: SELECT nextval('log_id_seq')
a: ROLLBACK
a: SELECT count(*) FROM log
a: SET application_name = x500
a: SHOW application_name
a: BEGIN
a: SET LOCAL application_name = '2s'
a: SHOW application_name
a: COMMIT
a: SHOW application_name
a: SELECT set_config('application_name', '10ms', true), current_setting('application_name')
a: SHOW application_name
a: BEGIN
a: SET application_name = y
a: ROLLBACK
a: SHOW application_name
