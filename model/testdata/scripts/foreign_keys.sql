# Foreign keys.
setup: CREATE TABLE parent (id int PRIMARY KEY, code text UNIQUE, v int)
setup: CREATE TABLE child (id int PRIMARY KEY, pid int REFERENCES parent, n int)
setup: CREATE TABLE casc (id int PRIMARY KEY, pid int REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)
setup: CREATE TABLE setn (id int PRIMARY KEY, code text DEFAULT 'd', CONSTRAINT fk FOREIGN KEY (code) REFERENCES parent (code) ON DELETE SET NULL ON UPDATE SET DEFAULT)
setup: CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE)
setup: INSERT INTO parent VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0), (9, 'd', 0)
a: INSERT INTO child VALUES (1, 1, 0), (2, NULL, 0)
a: INSERT INTO child VALUES (3, 7, 0)
a: UPDATE child SET pid = 8 WHERE id = 1
a: UPDATE child SET n = 1
a: DELETE FROM parent WHERE id = 1
a: UPDATE parent SET id = 10 WHERE id = 1
a: UPDATE parent SET v = 1 WHERE id = 1
a: INSERT INTO casc VALUES (1, 2), (2, 2), (3, 3)
a: UPDATE parent SET id = 20 WHERE id = 2
a: SELECT * FROM casc ORDER BY id
a: DELETE FROM parent WHERE id = 20
a: SELECT * FROM casc ORDER BY id
a: INSERT INTO setn VALUES (1, 'c'), (2, 'd')
a: UPDATE parent SET code = 'z' WHERE id = 3
a: SELECT * FROM setn ORDER BY id
a: DELETE FROM parent WHERE code = 'd'
a: SELECT * FROM setn ORDER BY id
a: INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 4)
a: INSERT INTO tree VALUES (5, 6), (6, NULL)
a: INSERT INTO tree VALUES (7, 8)
a: DELETE FROM tree WHERE id = 1
a: SELECT * FROM tree ORDER BY id
a: TRUNCATE parent
a: DROP TABLE parent
a: CREATE TABLE bad (x int REFERENCES nope)
a: CREATE TABLE bad (x int REFERENCES parent (v))
a: CREATE TABLE bad (x uuid REFERENCES parent (id))
a: CREATE TABLE bad (x int, FOREIGN KEY (y) REFERENCES parent)
a: CREATE TABLE late (pid int)
a: INSERT INTO late VALUES (1), (77)
a: ALTER TABLE late ADD FOREIGN KEY (pid) REFERENCES parent
a: DELETE FROM late WHERE pid = 77
a: ALTER TABLE late ADD FOREIGN KEY (pid) REFERENCES parent
a: ALTER TABLE late ADD CONSTRAINT late_pid_fkey CHECK (true)
a: INSERT INTO late VALUES (77)
a: ALTER TABLE late DROP CONSTRAINT late_pid_fkey
a: INSERT INTO late VALUES (77)
# A child that is being inserted holds its parent with KEY SHARE.
a: BEGIN
a: INSERT INTO child VALUES (10, 3, 0)
b: UPDATE parent SET v = 5 WHERE id = 3
b: BEGIN
b: DELETE FROM parent WHERE id = 3
a: COMMIT
b: ROLLBACK
# and a parent that is being deleted keeps the child waiting.
a: DELETE FROM child
a: BEGIN
a: DELETE FROM parent WHERE id = 3
b: INSERT INTO child VALUES (11, 3, 0)
a: COMMIT
a: INSERT INTO parent VALUES (3, 'c', 0)
a: BEGIN
a: DELETE FROM parent WHERE id = 3
b: INSERT INTO child VALUES (11, 3, 0)
a: ROLLBACK
a: SELECT * FROM child
a: BEGIN
a: DELETE FROM parent WHERE id = 1
a: INSERT INTO parent VALUES (1, 'again', 0)
b: INSERT INTO child VALUES (12, 1, 0)
a: COMMIT
a: DROP TABLE parent CASCADE
a: INSERT INTO child VALUES (13, 1000, 0)
