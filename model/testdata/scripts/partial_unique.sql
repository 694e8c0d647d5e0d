# the rows of one statement are checked against each other in a partial unique index
setup: CREATE TABLE t (k int PRIMARY KEY, v int)
setup: CREATE UNIQUE INDEX t_part ON t (v) WHERE k > 3
setup: INSERT INTO t VALUES (1, 1), (2, 1), (4, 43), (5, 54)
a: UPDATE t SET v = 16 WHERE k > 1
a: UPDATE t SET v = 16 WHERE k < 5
a: INSERT INTO t VALUES (6, 16)
a: INSERT INTO t VALUES (3, 16)
a: UPDATE t SET k = 7 WHERE k = 3
a: SELECT * FROM t ORDER BY k
