setup: CREATE TABLE t (k int PRIMARY KEY, v int, s text)
setup: CREATE TABLE u (k int, w text)
setup: INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, NULL, 'three'), (4, 20, NULL)
setup: INSERT INTO u VALUES (1, 'a'), (1, 'b'), (3, 'c'), (5, 'e')
a: SELECT 1 AS one, 'x' AS s, 1.50, true, NULL
a: SELECT * FROM t
a: SELECT k, v * 2 AS dbl, s || '!' FROM t WHERE v IS NOT NULL ORDER BY k DESC
a: SELECT t.k, u.w FROM t JOIN u ON t.k = u.k ORDER BY 1, 2
a: SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k ORDER BY 1, 2
a: SELECT t.k, u.k AS uk FROM t RIGHT JOIN u USING (k) ORDER BY 2, 1
a: SELECT k, w FROM t NATURAL JOIN u ORDER BY k, w
a: SELECT * FROM t JOIN u USING (k) ORDER BY w
a: SELECT t.k, u.w FROM t, u WHERE t.k = u.k AND u.w > 'a' ORDER BY 2
a: SELECT v, count(*), sum(k), max(s), min(k) FROM t GROUP BY v ORDER BY v
a: SELECT v, count(*) FROM t GROUP BY v HAVING count(*) > 1
a: SELECT count(*), count(v), sum(v), avg(v), max(k), bool_and(k > 0) FROM t
a: SELECT count(*) FROM t WHERE false
a: SELECT sum(v) FROM t WHERE false
a: SELECT count(DISTINCT v), count(*) FILTER (WHERE v > 10), string_agg(s, ',' ORDER BY k DESC) FROM t
a: SELECT array_agg(k ORDER BY k) FROM t
a: SELECT DISTINCT v FROM t
a: SELECT DISTINCT ON (v) v, k FROM t ORDER BY v, k DESC
a: SELECT k FROM t ORDER BY v NULLS FIRST, k DESC LIMIT 2 OFFSET 1
a: SELECT k FROM t ORDER BY k LIMIT ALL
a: SELECT k FROM t UNION SELECT k FROM u ORDER BY k
a: SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY k
a: SELECT k FROM t INTERSECT SELECT k FROM u
a: SELECT k FROM t EXCEPT SELECT k FROM u
a: SELECT k FROM u EXCEPT ALL SELECT k FROM t
a: SELECT (SELECT max(k) FROM u WHERE u.k = t.k) AS m FROM t ORDER BY k
a: SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) ORDER BY k
a: SELECT k FROM t WHERE k IN (SELECT k FROM u) ORDER BY k
a: SELECT k FROM t WHERE k NOT IN (SELECT k FROM u) ORDER BY k
a: SELECT k FROM t WHERE (k, v) = (1, 10)
a: SELECT k FROM t WHERE (k, v) IN ((1, 10), (2, 21))
a: SELECT k FROM t WHERE (k, v) < (2, 30) ORDER BY k
a: SELECT k FROM t WHERE k = ANY (ARRAY[1, 3, 9]) ORDER BY k
a: SELECT k FROM t WHERE k <> ALL ('{1,3}') ORDER BY k
a: SELECT k FROM t WHERE k BETWEEN 2 AND 3 ORDER BY k
a: SELECT k FROM t WHERE s LIKE 't%' ORDER BY k
a: SELECT k, CASE WHEN v > 15 THEN 'big' WHEN v IS NULL THEN 'none' ELSE 'small' END FROM t ORDER BY k
a: SELECT CASE k WHEN 1 THEN 'a' END, COALESCE(v, 0), NULLIF(k, 1), GREATEST(k, 2), LEAST(k, v) FROM t ORDER BY k
a: SELECT k IS DISTINCT FROM v, v IS NOT DISTINCT FROM NULL FROM t ORDER BY k
a: WITH x AS (SELECT k, v FROM t WHERE k < 3) SELECT * FROM x ORDER BY k
a: WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r
a: SELECT x.a, x.b FROM (VALUES (1, 'p'), (2, 'q')) AS x(a, b) ORDER BY a DESC
a: SELECT g FROM generate_series(1, 3) AS g
a: SELECT g * 2 AS d FROM generate_series(1, 10, 3) g ORDER BY d DESC
a: SELECT unnest(ARRAY['a','b']), 1 AS one
a: SELECT t.k, l.w FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k ORDER BY w DESC LIMIT 1) l ORDER BY 1
a: SELECT ARRAY(SELECT k FROM t ORDER BY k DESC)
a: SELECT t.k, u.w FROM t FULL JOIN u ON t.k = u.k ORDER BY 1, 2
a: SELECT 1 + 2 * 3, 7 / 2, 7 % 3, -7 / 2, 2 ^ 10, 10.0 / 4, 1 / 3.0
a: SELECT 'abc' || 1, upper('abc'), length('héé'), substring('hello' from 2 for 3), lower('ABC')
a: SELECT '2026-01-02 03:04:05+00'::timestamptz, '1 day 02:00'::interval, '2026-01-02'::date
a: SELECT 5::int2, 5::int8, '5'::numeric(5,2), 'x'::varchar(10), 'yes'::bool
a: SELECT now(), now() + interval '90 seconds'
a: SELECT $1::int + 1, $2 -- args [41, "text"]
a: SELECT k FROM t WHERE k = $1 AND s = $2 -- args [1, "one"]
a: SELECT k FROM t WHERE k = ANY($1) ORDER BY k -- args [[1, 2, 7]]
a: SELECT k FROM t LIMIT $1 -- args [1]
a: SELECT current_user, current_schema()
