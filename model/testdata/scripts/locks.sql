# row locks, waits, and the re-check of READ COMMITTED
setup: CREATE TABLE t (k int PRIMARY KEY, v int)
setup: INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)
a: BEGIN
a: UPDATE t SET v = 10 WHERE k = 1
b: UPDATE t SET v = v + 1 WHERE k = 1 RETURNING *
a: COMMIT
# the waiter's condition fails on the newest version
a: BEGIN
a: UPDATE t SET v = 100 WHERE k = 2
b: UPDATE t SET v = v + 1 WHERE v = 2
a: COMMIT
# a rollback leaves the old version
a: BEGIN
a: UPDATE t SET v = 0 WHERE k = 3
b: SELECT * FROM t WHERE k = 3 FOR UPDATE
a: ROLLBACK
# delete and re-insert
a: BEGIN
a: DELETE FROM t WHERE k = 3
b: UPDATE t SET v = 33 WHERE k = 3
a: INSERT INTO t VALUES (3, 4)
a: COMMIT
# NOWAIT and SKIP LOCKED
a: BEGIN
a: SELECT * FROM t WHERE k = 1 FOR UPDATE
b: SELECT * FROM t WHERE k = 1 FOR UPDATE NOWAIT
b: SELECT * FROM t ORDER BY k FOR UPDATE SKIP LOCKED
b: SELECT * FROM t ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED
b: SELECT * FROM t WHERE k = 1 FOR KEY SHARE SKIP LOCKED
a: COMMIT
# share locks
a: BEGIN
a: SELECT * FROM t WHERE k = 1 FOR SHARE
b: SELECT * FROM t WHERE k = 1 FOR SHARE
b: UPDATE t SET v = 5 WHERE k = 1
a: COMMIT
# key share does not stop a plain update
a: BEGIN
a: SELECT * FROM t WHERE k = 1 FOR KEY SHARE
b: UPDATE t SET v = 6 WHERE k = 1
b: UPDATE t SET k = 11 WHERE k = 1
a: COMMIT
# order of locks by ORDER BY, limit counts locked rows
a: BEGIN
a: UPDATE t SET v = 1000 WHERE k = 2
b: SELECT k, v FROM t ORDER BY v LIMIT 2 FOR UPDATE
a: COMMIT
# unique waits
a: BEGIN
a: INSERT INTO t VALUES (50, 1)
b: INSERT INTO t VALUES (50, 2)
a: COMMIT
a: BEGIN
a: INSERT INTO t VALUES (51, 1)
b: INSERT INTO t VALUES (51, 2) ON CONFLICT DO NOTHING
a: COMMIT
a: BEGIN
a: INSERT INTO t VALUES (52, 1)
b: INSERT INTO t VALUES (52, 2) ON CONFLICT (k) DO UPDATE SET v = t.v + 10 RETURNING *
a: COMMIT
a: BEGIN
a: INSERT INTO t VALUES (53, 1)
b: INSERT INTO t VALUES (53, 2) ON CONFLICT DO NOTHING
a: ROLLBACK
# deadlock
a: BEGIN
a: UPDATE t SET v = 0 WHERE k = 50
b: BEGIN
b: UPDATE t SET v = 0 WHERE k = 51
a: UPDATE t SET v = 0 WHERE k = 51
b: UPDATE t SET v = 0 WHERE k = 50
interrupt b 40P01
b: ROLLBACK
a: COMMIT
# lock_timeout
a: BEGIN
a: UPDATE t SET v = 1 WHERE k = 50
b: BEGIN
b: UPDATE t SET v = 2 WHERE k = 50
interrupt b 55P03
b: SELECT 1
b: ROLLBACK
b: UPDATE t SET v = 2 WHERE k = 50
interrupt b 57014
close a
b: SELECT v FROM t WHERE k = 50
