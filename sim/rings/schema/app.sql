-- The application's own tables, and so the harness's ground truth: which jobs it handed over, in the transaction that
-- enqueued them, and which it saw through, in the transaction that finished them.
CREATE TABLE app_jobs (
    job bigint PRIMARY KEY, queue text NOT NULL
);

CREATE TABLE app_effects (
    job bigint NOT NULL, run_lease integer NOT NULL, failed boolean NOT NULL
);
