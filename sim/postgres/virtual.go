package postgres

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"simrun/sim"
)

// virtualSchema makes the schema "simrun", whose functions and views answer from the simulation. Sessions have it in front
// of pg_catalog in search_path.
//
//go:embed virtual.sql
var virtualSchema string

// sessionSettings are the run-time parameters of all sessions that run scenarios.
//
// Plans are fixed to what the model does: sequential scans in heap order, nested loops in the order of FROM, sorts for
// grouping. Otherwise the order in which a statement locks rows would depend on statistics.
//
// deadlock_timeout must be long enough for simrun to see that a backend waits, and to stop it, before the backend looks for
// a deadlock, and is what a deadlock costs: its victim is let go and finds the deadlock when the time is over.
var sessionSettings = map[string]string{
	"search_path":                         "public, simrun, pg_catalog",
	"TimeZone":                            "UTC",
	"DateStyle":                           "ISO, MDY",
	"IntervalStyle":                       "postgres",
	"bytea_output":                        "hex",
	"extra_float_digits":                  "1",
	"client_min_messages":                 "notice",
	"deadlock_timeout":                    strconv.Itoa(int(deadlockTimeout / time.Millisecond)),
	"lock_timeout":                        "0",
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
	"default_transaction_isolation":       "read committed",
	"plan_cache_mode":                     "force_custom_plan",
	"enable_bitmapscan":                   "off",
	"enable_hashagg":                      "off",
	"enable_hashjoin":                     "off",
	"enable_incremental_sort":             "off",
	"enable_indexonlyscan":                "off",
	"enable_indexscan":                    "off",
	"enable_material":                     "off",
	"enable_memoize":                      "off",
	"enable_mergejoin":                    "off",
	"enable_parallel_append":              "off",
	"enable_parallel_hash":                "off",
	"enable_tidscan":                      "off",
	"from_collapse_limit":                 "1",
	"join_collapse_limit":                 "1",
	"jit":                                 "off",
	"max_parallel_workers_per_gather":     "0",
	"synchronize_seqscans":                "off",
	"synchronous_commit":                  "off",
	"simrun.now":                          timeText(sim.Epoch),
	"simrun.txn":                          timeText(sim.Epoch),
	"simrun.starts":                       "",
	"simrun.pids":                         "",
	"simrun.pid":                          "0",
}

const deadlockTimeout = 25 * time.Millisecond

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999+00") }

// clockSettings returns the statements that tell the session what the time is, "" when it knows. The time of the transaction
// is set only outside of one. SET takes no snapshot, so it is no statement of the actor's transaction.
func (s *session) clockSettings(now time.Time) string {
	var b strings.Builder
	if s.w.Tx == 'I' && !s.txnClock.Equal(now) {
		fmt.Fprintf(&b, "SET simrun.txn = '%s';", timeText(now))
		s.txnClock = now
	}
	if s.w.Tx != 'E' && !s.clock.Equal(now) {
		fmt.Fprintf(&b, "SET simrun.now = '%s';", timeText(now))
		s.clock = now
		s.clockTx = s.clockTx || s.w.Tx == 'T'
	}
	return b.String()
}

// asking is what SQL may ask about sessions.
type asking struct {
	starts bool // when their transactions began
	pids   bool // which process each is
}

// asksForProcesses matches what needs to know which process each session is.
var asksForProcesses = regexp.MustCompile(`pg_cancel_backend|pg_terminate_backend|pg_blocking_pids|pg_locks`)

func asksOf(sql string) asking {
	low := strings.ToLower(sql)
	if !strings.Contains(low, "pg_") {
		return asking{}
	}
	return asking{starts: strings.Contains(sql, "pg_stat_activity"), pids: asksForProcesses.MatchString(low)}
}

// processSettings returns the statements that tell the session about the others, before SQL that may ask: when everybody's present
// transaction began, for pg_stat_activity, as the server knows its own time only (the time that a session was told last outside of a
// transaction is when its transaction began); and for functions that signal, which process each is.
func (b *Backend) processSettings(s *session, sql string) string {
	if s.w.Tx == 'E' {
		return ""
	}
	var set strings.Builder
	asks := asksOf(sql)
	switch {
	case asks.starts && s.starts != "": // the view is as the transaction has read it first
		set.WriteString(s.starts)
	case asks.starts || b.asks.starts:
		starts := b.listed("simrun.starts", func(other *session) string {
			if other.txnClock.IsZero() {
				return ""
			}
			return timeText(other.txnClock)
		})
		set.WriteString(starts)
		if asks.starts && s.w.Tx == 'T' {
			s.starts = starts
		}
	}
	if asks.pids || b.asks.pids {
		set.WriteString(b.listed("simrun.pids", func(other *session) string { return strconv.Itoa(other.w.PID) }))
	}
	return set.String()
}

// listed returns the statement that sets a parameter to what each living session has to say.
func (b *Backend) listed(parameter string, of func(*session) string) string {
	var list []string
	for _, other := range b.sessions {
		if other != nil && other.open && other.gone == nil {
			if text := of(other); text != "" {
				list = append(list, strconv.Itoa(other.index+1)+"="+text)
			}
		}
	}
	return "SET " + parameter + " = '" + strings.Join(list, ",") + "';"
}

// settle notes what the end of a transaction does to the session's clock: a setting that was made in it may be undone.
func (s *session) settle() {
	if s.w.Tx == 'I' {
		s.starts = ""
	}
	if s.w.Tx == 'I' && s.clockTx {
		s.clock, s.clockTx = time.Time{}, false
	}
}

// timeouts matches SET of a timeout that the schedule, and not the server's clock, has to fire.
var timeouts = regexp.MustCompile(`(?i)\bset\s+(?:local\s+|session\s+)?(?:lock_timeout|statement_timeout|idle_in_transaction_session_timeout|transaction_timeout)` +
	`\s*(?:=|\bto\b)\s*('[^']*'|[0-9a-z]+)`)

// never stands for a timeout that was set, in milliseconds: 23 days, so that the server's own never fires.
const never = 2_000_000_000

// deadlockTimeouts matches the beginning of a SET of deadlock_timeout: the schedule chooses the victim, by timeouts of its own.
var deadlockTimeouts = regexp.MustCompile(`(?i)\b(set\s+(?:local\s+|session\s+)?)(deadlock_timeout\s*(?:=|\bto\b))`)

// virtualTimeouts replaces the timeouts that the SQL sets by one that never fires, and has it set another parameter than
// deadlock_timeout. set_config is replaced in schema simrun.
func virtualTimeouts(sql string) string {
	if !strings.Contains(sql, "timeout") && !strings.Contains(sql, "TIMEOUT") {
		return sql
	}
	sql = deadlockTimeouts.ReplaceAllString(sql, "${1}simrun.${2}")
	return timeouts.ReplaceAllStringFunc(sql, func(set string) string {
		m := timeouts.FindStringSubmatchIndex(set)
		switch value := strings.ToLower(strings.Trim(set[m[2]:m[3]], "'")); value {
		case "0", "default":
			return set
		}
		return set[:m[2]] + strconv.Itoa(never) + set[m[3]:]
	})
}

// interruptions are the errors that Interrupt can give, by cause.
var interruptions = map[string]struct{ code, message string }{
	"40P01":              {"40P01", "deadlock detected"},
	"55P03":              {"55P03", "canceling statement due to lock timeout"},
	"57014":              {"57014", "canceling statement due to user request"},
	sim.StatementTimeout: {"57014", "canceling statement due to statement timeout"},
	sim.IdleTimeout:      {"25P03", "terminating connection due to idle-in-transaction timeout"},
}
