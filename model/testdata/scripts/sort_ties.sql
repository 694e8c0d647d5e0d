# the order of rows that ORDER BY does not tell apart: that of the server's sort, which is not stable
setup: CREATE TABLE t (k int, v int)
setup: INSERT INTO t SELECT (g * 7919) % 5, g FROM generate_series(1, 100) g
a: SELECT k, v FROM t WHERE v <= 6 ORDER BY k
a: SELECT k, v FROM t WHERE v <= 7 ORDER BY k
a: SELECT k, v FROM t WHERE v <= 8 ORDER BY k
a: SELECT k, v FROM t WHERE v <= 13 ORDER BY k
a: SELECT k, v FROM t WHERE v <= 13 ORDER BY k DESC
a: SELECT k, v FROM t WHERE v <= 40 ORDER BY k
a: SELECT k, v FROM t WHERE v <= 41 ORDER BY k
a: SELECT k, v FROM t ORDER BY k
a: SELECT k, v FROM t ORDER BY k % 2, k % 3
a: SELECT k, v FROM t WHERE v % 11 < 3 ORDER BY k FOR UPDATE
