# table locks, TRUNCATE and snapshots
setup: CREATE TABLE t (k int PRIMARY KEY, v int)
setup: CREATE TABLE u (k int)
setup: INSERT INTO t VALUES (1, 1), (2, 2)
a: BEGIN
a: LOCK TABLE t IN ACCESS EXCLUSIVE MODE
b: SELECT * FROM t
a: COMMIT
a: BEGIN
a: LOCK TABLE t IN SHARE MODE
b: SELECT * FROM t
b: INSERT INTO t VALUES (3, 3)
a: COMMIT
a: BEGIN
a: LOCK TABLE t IN ROW EXCLUSIVE MODE
b: BEGIN
b: LOCK TABLE u, t IN ACCESS EXCLUSIVE MODE NOWAIT
b: ROLLBACK
b: BEGIN
b: LOCK TABLE u, t IN ACCESS EXCLUSIVE MODE
c: SELECT count(*) FROM t
a: COMMIT
b: COMMIT
# a waiting exclusive lock holds up later readers
a: BEGIN
a: SELECT * FROM t WHERE k = 1
b: BEGIN
b: TRUNCATE t
c: SELECT * FROM t WHERE k = 2
a: COMMIT
b: INSERT INTO t VALUES (9, 9)
b: COMMIT
# TRUNCATE empties the table for older snapshots
a: BEGIN ISOLATION LEVEL REPEATABLE READ
a: SELECT count(*) FROM u
b: TRUNCATE t
a: SELECT count(*) FROM t
a: COMMIT
# REPEATABLE READ
b: INSERT INTO t VALUES (1, 1), (2, 2)
a: BEGIN ISOLATION LEVEL REPEATABLE READ
a: SELECT * FROM t ORDER BY k
b: UPDATE t SET v = 5 WHERE k = 1
b: INSERT INTO t VALUES (3, 3)
a: SELECT * FROM t ORDER BY k
a: INSERT INTO t VALUES (3, 4) ON CONFLICT DO NOTHING
a: ROLLBACK
a: BEGIN ISOLATION LEVEL REPEATABLE READ
a: SELECT count(*) FROM t
b: UPDATE t SET v = 6 WHERE k = 1
a: UPDATE t SET v = 7 WHERE k = 1
a: ROLLBACK
# a lock that did not change the row is no reason to fail
a: BEGIN ISOLATION LEVEL REPEATABLE READ
a: SELECT count(*) FROM t
b: BEGIN
b: SELECT * FROM t WHERE k = 1 FOR UPDATE
a: UPDATE t SET v = 8 WHERE k = 1
b: COMMIT
a: COMMIT
# a statement that waited for a table lock sees what was committed meanwhile
a: BEGIN
a: LOCK TABLE t
a: DELETE FROM t
b: SELECT count(*) FROM t
a: COMMIT
# advisory locks
a: SELECT pg_advisory_lock(1)
b: SELECT pg_try_advisory_lock(1)
b: SELECT pg_advisory_lock(1)
a: SELECT pg_advisory_unlock(1)
a: SELECT pg_advisory_unlock(1)
a: BEGIN
a: SELECT pg_try_advisory_xact_lock(2)
b: SELECT pg_advisory_xact_lock_shared(2)
a: COMMIT
b: SELECT pg_advisory_unlock_all()
# sequences do not roll back
a: CREATE SEQUENCE sq
a: BEGIN
a: SELECT nextval('sq')
b: SELECT nextval('sq')
a: ROLLBACK
a: SELECT nextval('sq'), currval('sq')
