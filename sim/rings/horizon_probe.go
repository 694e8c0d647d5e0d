package rings

// horizonSQL says whether another backend of this database genuinely pins the horizon: a snapshot in a transaction that is
// older than 5 s, or a write xid in a transaction that idles. A transient snapshot of a running statement does not count.
const horizonSQL = `SELECT EXISTS (SELECT 1 FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
	  AND ((a.backend_xmin IS NOT NULL AND a.xact_start < clock_timestamp() - interval '5 seconds')
	    OR (a.backend_xid IS NOT NULL AND a.state LIKE 'idle in transaction%')))`

// horizonAnySQL is how 0.6.2 asks: any snapshot counts.
const horizonAnySQL = `SELECT EXISTS (SELECT 1 FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
	  AND (a.backend_xmin IS NOT NULL OR (a.backend_xid IS NOT NULL AND a.state LIKE 'idle in transaction%')))`

// horizonSafeSQL also works for a role that may not see other roles' sessions (without pg_read_all_stats their backend_type,
// state and xact_start are NULL): what it cannot judge counts as a pin.
const horizonSafeSQL = `SELECT EXISTS (SELECT 1 FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
	  AND (a.backend_type = 'client backend' OR a.backend_type IS NULL)
	  AND ((a.backend_xmin IS NOT NULL AND (a.xact_start IS NULL OR a.xact_start < clock_timestamp() - interval '5 seconds'))
	    OR (a.backend_xid IS NOT NULL AND (a.state IS NULL OR a.state LIKE 'idle in transaction%'))))`

// standDown is the first step of every fold: a fold that deleted under a pin would leave dead rows that nothing reclaims.
func standDown(sql string) procedure {
	return procedure{{"probe horizon", func(t *turn) error {
		pinned, err := t.exists(sql)
		if err == nil && pinned {
			return t.end(Outcome{Kind: SkippedPinned})
		}
		return err
	}}}
}
