# Roles and privileges.
setup: CREATE TABLE t (a int PRIMARY KEY, b int)
setup: CREATE SEQUENCE s
setup: CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'
setup: REVOKE EXECUTE ON FUNCTION f() FROM PUBLIC
setup: INSERT INTO t VALUES (1, 1)
a: CREATE ROLE simrun_r1
a: CREATE ROLE simrun_r1
a: CREATE USER simrun_r2
a: SET ROLE simrun_nope
a: SET ROLE simrun_r1
a: SELECT current_user, session_user = current_user
a: SELECT * FROM t
a: INSERT INTO t VALUES (2, 2)
a: SELECT nextval('s')
a: SELECT f()
a: CREATE TABLE mine (x int)
a: DROP TABLE t
a: ALTER TABLE t ADD COLUMN c int
a: CREATE INDEX ON t (b)
a: TRUNCATE t
a: VACUUM t
a: ANALYZE t
a: RESET ROLE
a: GRANT SELECT, INSERT ON t TO simrun_r1
a: GRANT USAGE ON SEQUENCE s TO simrun_r1
a: GRANT EXECUTE ON FUNCTION f() TO simrun_r1
a: SET ROLE simrun_r1
a: SELECT * FROM t
a: SELECT nextval('s'), f()
a: INSERT INTO t VALUES (2, 2)
a: INSERT INTO t VALUES (2, 2) ON CONFLICT DO NOTHING
a: INSERT INTO t VALUES (2, 2) ON CONFLICT (a) DO NOTHING
a: INSERT INTO t VALUES (2, 2) ON CONFLICT (a) DO UPDATE SET b = 3
a: UPDATE t SET b = 1
a: DELETE FROM t
a: SELECT * FROM t FOR UPDATE
a: SELECT * FROM t FOR KEY SHARE
a: LOCK TABLE t
a: RESET ROLE
a: REVOKE SELECT ON t FROM simrun_r1
a: SET ROLE simrun_r1
a: INSERT INTO t VALUES (3, 3)
a: INSERT INTO t VALUES (3, 3) ON CONFLICT DO NOTHING
a: INSERT INTO t VALUES (3, 3) ON CONFLICT (a) DO NOTHING
a: INSERT INTO t VALUES (4, 4) RETURNING a
a: INSERT INTO t SELECT 5, 5
a: RESET ROLE
a: GRANT UPDATE (b) ON t TO simrun_r1
a: GRANT SELECT (a) ON t TO simrun_r1
a: SET ROLE simrun_r1
a: UPDATE t SET b = 9 WHERE a = 1
a: UPDATE t SET a = 9 WHERE a = 1
a: UPDATE t SET b = 9 WHERE b = 1
a: UPDATE t SET b = b + 1 WHERE a = 1
a: SELECT a FROM t ORDER BY a
a: SELECT a FROM t ORDER BY a FOR UPDATE
a: SELECT b FROM t
a: SELECT * FROM t
a: SELECT count(*) FROM t
a: RESET ROLE
a: GRANT simrun_r1 TO simrun_r2
a: SET ROLE simrun_r2
a: SELECT a FROM t WHERE a = 1
a: RESET ROLE
a: CREATE SCHEMA priv
a: CREATE TABLE priv.x (a int)
a: GRANT SELECT ON priv.x TO PUBLIC
a: SET ROLE simrun_r1
a: SELECT * FROM priv.x
a: RESET ROLE
a: GRANT USAGE ON SCHEMA priv TO simrun_r1
a: SET ROLE simrun_r1
a: SELECT * FROM priv.x
a: CREATE TABLE priv.y (a int)
a: RESET ROLE
a: GRANT CREATE ON SCHEMA priv TO simrun_r1
a: SET ROLE simrun_r1
a: CREATE TABLE priv.y (a int)
a: INSERT INTO priv.y VALUES (1)
a: RESET ROLE
a: CREATE FUNCTION priv.definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT sum(b) FROM public.t'
a: SET ROLE simrun_r1
a: SELECT priv.definer() > 0
a: SELECT has_table_privilege('t', 'INSERT'), has_table_privilege('t', 'DELETE'), has_table_privilege('simrun_r2', 't', 'INSERT')
a: GRANT SELECT ON t TO simrun_r2
a: RESET ROLE
a: GRANT nope ON t TO simrun_r1
a: GRANT EXECUTE ON t TO simrun_r1
a: GRANT SELECT (zzz) ON t TO simrun_r1
a: GRANT SELECT ON nope TO simrun_r1
a: GRANT SELECT ON t TO nope
a: DROP TABLE priv.y, priv.x, t
a: DROP FUNCTION f(), priv.definer()
a: DROP SEQUENCE s
a: DROP SCHEMA priv
a: DROP ROLE simrun_r1, simrun_r2
a: DROP ROLE simrun_r1
a: DROP ROLE IF EXISTS simrun_r1
