-- name: NextReady :one
SELECT id, attempts FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 1;

-- name: NextReadyLocked :one
SELECT id, attempts FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: Start :execrows
UPDATE jobs SET state = 'running', worker = $2, attempts = attempts + 1 WHERE id = $1;

-- name: Finish :execrows
UPDATE jobs SET state = 'done' WHERE id = $1 AND worker = $2;
