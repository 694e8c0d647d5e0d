setup: CREATE TABLE t (k int PRIMARY KEY, on_ bool DEFAULT true, v int)
setup: INSERT INTO t VALUES (1, true, 1)
# the same with the newcomers in the other order
a: BEGIN
a: UPDATE t SET v = 2 WHERE k = 1
b: BEGIN
b: SELECT v FROM t WHERE on_ FOR UPDATE
c: BEGIN
c: SELECT v FROM t WHERE on_ FOR UPDATE
a: COMMIT
a: BEGIN
a: SELECT v FROM t WHERE on_ FOR UPDATE
d: BEGIN
d: SELECT v FROM t WHERE on_ FOR UPDATE
b: UPDATE t SET v = 3 WHERE on_ AND v = 2
b: COMMIT
a: COMMIT
c: COMMIT
d: COMMIT
