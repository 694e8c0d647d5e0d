# what queues and ledgers do
setup: CREATE TABLE job (id int PRIMARY KEY, state text NOT NULL DEFAULT 'ready', owner int)
setup: CREATE TABLE reserved (id int PRIMARY KEY, rid bigint NOT NULL)
setup: CREATE TABLE active (id int PRIMARY KEY)
setup: INSERT INTO job SELECT g FROM generate_series(1, 5) g
setup: INSERT INTO active SELECT g FROM generate_series(1, 4) g
a: BEGIN
a: UPDATE job SET state = 'taken', owner = 1 WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id
b: BEGIN
b: UPDATE job SET state = 'taken', owner = 2 WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id
c: WITH picked AS (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) UPDATE job SET state = 'taken', owner = 3 FROM picked WHERE job.id = picked.id RETURNING job.id
a: COMMIT
b: ROLLBACK
a: SELECT * FROM job ORDER BY id
# reservation: delete from one table into another, two at once
a: BEGIN
a: WITH d AS (DELETE FROM active WHERE id = ANY('{1,2}') RETURNING id) INSERT INTO reserved SELECT id, 100 FROM d
b: WITH d AS (DELETE FROM active WHERE id = ANY('{2,3}') RETURNING id) INSERT INTO reserved SELECT id, 200 FROM d
a: COMMIT
a: SELECT * FROM reserved ORDER BY id
a: SELECT * FROM active ORDER BY id
# INSERT .. SELECT does not re-check its source
a: BEGIN
a: DELETE FROM active WHERE id = 4
b: INSERT INTO reserved SELECT id, 300 FROM active WHERE id = 4
a: COMMIT
a: SELECT * FROM reserved WHERE id = 4
# compare and swap
a: BEGIN
a: UPDATE job SET owner = 7 WHERE id = 5 AND owner IS NULL
b: UPDATE job SET owner = 8 WHERE id = 5 AND owner IS NULL
a: COMMIT
# join partner of a re-checked row stays
a: BEGIN
a: UPDATE job SET owner = 9 WHERE id = 5
b: UPDATE job SET state = r.rid::text FROM reserved r WHERE r.id = 1 AND job.id = 5 RETURNING job.*, r.rid
a: COMMIT
# three waiters
a: BEGIN
a: SELECT * FROM job WHERE id = 1 FOR UPDATE
b: UPDATE job SET owner = 20 WHERE id = 1 RETURNING owner
c: UPDATE job SET owner = 30 WHERE id = 1 RETURNING owner
d: SELECT owner FROM job WHERE id = 1 FOR SHARE
a: COMMIT
# clock
a: SELECT now() = clock_timestamp()
clock 5s
a: BEGIN
a: SELECT now()
clock 1m
a: SELECT now(), clock_timestamp()
a: COMMIT
