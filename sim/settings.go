package sim

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stmtClass is what a statement means to a session's transaction.
type stmtClass uint8

const (
	stmtOther stmtClass = iota
	stmtBegin
	stmtCommit
	stmtRollback
	stmtSet
)

// classify looks at the first words of a statement.
func classify(sql string) stmtClass {
	switch word, rest := firstWord(sql); word {
	case "begin", "start":
		return stmtBegin
	case "commit", "end":
		return stmtCommit
	case "rollback", "abort":
		if next, _ := firstWord(rest); next == "to" {
			return stmtOther
		}
		return stmtRollback
	case "set", "reset":
		return stmtSet
	case "select":
		if strings.Contains(sql, "set_config") {
			return stmtSet
		}
	}
	return stmtOther
}

// onlyReads says that a statement certainly changes nothing: it is one SELECT in which nothing looks like a call.
func onlyReads(sql string) bool {
	word, _ := firstWord(sql)
	return word == "select" && !strings.ContainsAny(sql, "(;")
}

// firstWord returns the first word in lower case and what follows it; comments are skipped.
func firstWord(sql string) (word, rest string) {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n;(")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
			continue
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql, "*/")
			continue
		}
		break
	}
	i := 0
	for i < len(sql) && (sql[i]|0x20 >= 'a' && sql[i]|0x20 <= 'z' || sql[i] == '_') {
		i++
	}
	return strings.ToLower(sql[:i]), sql[i:]
}

// settings are the session settings by which the world offers faults: is a wait bounded by lock_timeout or statement_timeout, or a
// pause in a transaction by idle_in_transaction_session_timeout, and can a statement fail with 40001. Each has a value of the session and one of the current transaction.
type settings struct {
	lock, statement      scoped
	idle                 scoped // idle_in_transaction_session_timeout
	isoSession, isoLocal bool
}

// scoped is a timeout of the session and of the current transaction.
type scoped struct{ session, local timeout }

func (g *settings) repeatable() bool { return g.isoLocal }

// timeout finds a timeout by its name.
func (g *settings) timeout(name string) *scoped {
	switch name {
	case "lock_timeout":
		return &g.lock
	case "statement_timeout":
		return &g.statement
	case "idle_in_transaction_session_timeout":
		return &g.idle
	}
	return nil
}

// connect gives the settings of a new connection.
func (g *settings) connect(spec *ActorSpec) {
	*g = settings{}
	for _, s := range spec.Settings {
		name := strings.ToLower(s[0])
		if t := g.timeout(name); t != nil {
			t.session = timeoutOf(s[1])
		} else if name == "default_transaction_isolation" {
			g.isoSession = isRepeatable(s[1])
		}
	}
	g.begin()
}

// after takes in a statement that has been answered; before and now are the transaction states around it.
func (g *settings) after(stmt stmtClass, sql string, before, now byte, ok bool) {
	if ok {
		switch stmt {
		case stmtBegin:
			low := strings.ToLower(sql)
			if strings.Contains(low, "isolation level") {
				g.isoLocal = isRepeatable(low)
			}
		case stmtSet:
			g.set(strings.ToLower(sql), now == 'I')
		}
	}
	if before != 'I' && now == 'I' {
		g.begin()
	}
}

// begin gives a new transaction the session's values.
func (g *settings) begin() {
	g.lock.local, g.statement.local, g.idle.local, g.isoLocal = g.lock.session, g.statement.session, g.idle.session, g.isoSession
}

// set takes in SET and set_config of what is tracked. A SET that its transaction rolls back is taken as made: it can only
// offer a fault too many, which the actor's SQL did ask for.
func (g *settings) set(low string, idle bool) {
	for _, name := range [...]string{"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"} {
		_, value, found := strings.Cut(low, name)
		if !found {
			continue
		}
		t, on := g.timeout(name), timeoutOf(value)
		local := strings.Contains(low, "local") || strings.Contains(value, "true")
		if !local {
			t.session = on
		}
		if !local || !idle {
			t.local = on
		}
	}
	switch {
	case strings.Contains(low, "default_transaction_isolation"), strings.Contains(low, "session characteristics"):
		g.isoSession = isRepeatable(low)
		if idle {
			g.isoLocal = g.isoSession
		}
	case strings.Contains(low, "transaction isolation level"):
		g.isoLocal = isRepeatable(low)
	}
}

func isRepeatable(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, "repeatable read") || strings.Contains(s, "serializable")
}

// timeout is what a value of a timeout means beside deadlock_timeout, which is a second unless somebody sets it: a wait
// that ends before the server looks for a deadlock is never the deadlock's victim.
type timeout uint8

const (
	timeoutNone  timeout = iota // 0, default, or not set
	timeoutShort                // below a second
	timeoutLong
)

var timeoutValue = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\b`)

// timeoutUnits are those of the server's settings; the timeouts' own is the millisecond.
var timeoutUnits = map[string]time.Duration{"us": time.Microsecond, "": time.Millisecond, "ms": time.Millisecond, "s": time.Second,
	"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// timeoutOf reads the first number in lower-case text, with its unit.
func timeoutOf(s string) timeout {
	m := timeoutValue.FindStringSubmatch(s)
	if m == nil {
		return timeoutNone
	}
	n, err := strconv.ParseFloat(m[1], 64)
	switch {
	case err != nil || n == 0:
		return timeoutNone
	case n*float64(timeoutUnits[m[2]]) < float64(time.Second):
		return timeoutShort
	}
	return timeoutLong
}
