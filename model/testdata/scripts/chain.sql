# waiters follow a chain of versions that grows while they wait
setup: CREATE TABLE t (k int PRIMARY KEY, on_ bool DEFAULT true, v int)
setup: INSERT INTO t VALUES (1, true, 1)
a: BEGIN
a: UPDATE t SET v = 2 WHERE k = 1
b: BEGIN
b: SELECT v FROM t WHERE on_ FOR UPDATE
c: BEGIN
c: SELECT v FROM t WHERE on_ FOR UPDATE
d: BEGIN
d: UPDATE t SET v = v + 100 WHERE on_ RETURNING v
a: COMMIT
b: UPDATE t SET v = 3 WHERE on_
b: COMMIT
c: UPDATE t SET v = v + 10 WHERE on_ RETURNING v
c: COMMIT
d: COMMIT
a: SELECT * FROM t
# one waiter has followed the chain already, another came later to the version in between and goes on first
a: BEGIN
a: UPDATE t SET v = 2 WHERE k = 1
b: BEGIN
b: SELECT v FROM t WHERE on_ FOR UPDATE
d: BEGIN
d: SELECT v FROM t WHERE on_ FOR UPDATE
a: COMMIT
c: BEGIN
c: SELECT v FROM t WHERE on_ FOR UPDATE
b: UPDATE t SET v = 3 WHERE on_
b: COMMIT
c: COMMIT
d: COMMIT
# and a third behind that one
a: BEGIN
a: UPDATE t SET v = 2 WHERE k = 1
b: BEGIN
b: SELECT v FROM t WHERE on_ FOR UPDATE
d: BEGIN
d: SELECT v FROM t WHERE on_ FOR UPDATE
a: COMMIT
c: BEGIN
c: SELECT v FROM t WHERE on_ FOR UPDATE
a: BEGIN
a: SELECT v FROM t WHERE on_ FOR UPDATE
b: UPDATE t SET v = 3 WHERE on_ AND v = 2
b: COMMIT
c: COMMIT
a: COMMIT
d: COMMIT
