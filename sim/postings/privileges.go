package postings

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"simrun/sim"
)

// The least-privilege claim of the decision record, measured: for each statement of a program and each privilege that the
// commit role has on a table, the statement runs with that privilege revoked; SQLSTATE 42501 says that it is needed.

// statement is a statement of the protocol with arguments that it can run with.
type statement struct {
	name string
	sql  string
	args named
}

// protocolStatements are the statements of a program by name.
func (p *program) protocolStatements() []statement {
	ids := []PostingID{{genesis, 0}}
	row := []Posting{{PostingID{"t", 0}, alice, usd, 1}}
	account := Account{AccountID: alice, Version: 2, Policy: noOverdraft}.columns()
	owner := named{"id": alice.ID, "sub": alice.Sub, "asset": int32(usd)}
	var out []statement
	add := func(name, sql string, args named) {
		if sql != "" {
			out = append(out, statement{name, sql, args})
		}
	}
	moved := func(name string, m move) {
		for i, sql := range m.stmts {
			if len(m.stmts) > 1 {
				name = fmt.Sprintf("%s (%d of %d)", strings.TrimSuffix(name, fmt.Sprintf(" (%d of %d)", i, len(m.stmts))), i+1, len(m.stmts))
			}
			add(name, sql, named{"ids": ids, "rid": int64(1)})
		}
	}
	moved("reserve", p.reserve)
	moved("release", p.release)
	moved("consume", p.consume)
	add("insert postings", p.insert.one, rowsOf(row))
	add("insert posting", p.insert.record, rowsOf(row))
	add("activate posting", p.insert.activate, rowsOf(row))
	for i, sql := range p.probes {
		add(fmt.Sprintf("states (%d of %d)", i+1, len(p.probes)), sql, named{"ids": ids})
	}
	add("postings by id", sqlPostings, named{"ids": ids})
	add("spendable of an account", p.byOwner[FilterActive], owner)
	add("live of an account", p.byOwner[FilterLive], owner)
	add("any live of an account", p.liveAny, owner)
	add("look up transfer", `SELECT transfer FROM transfers WHERE id = @tid`, named{"tid": "t"})
	add("store transfer", p.sqlStoreTransfer, named{"tid": "t", "transfer": "{}", "now": int64(0), "book": int64(0), "involved": []involvement{{"t", alice}}})
	add("append event", p.sqlAppendEvent, named{"seq": int64(9), "now": int64(0), "kind": "k", "data": "d", "dedup": "t"})
	add("look up event", `SELECT seq FROM events WHERE dedup_key = @dedup`, named{"dedup": "t"})
	add("save record", p.sqlSaveSaga, named{"rid": int64(1), "data": "{}"})
	add("list records", `SELECT data FROM sagas ORDER BY id`, nil)
	add("delete record", `DELETE FROM sagas WHERE id = @rid`, named{"rid": int64(1)})
	add("read accounts", sqlCurrentAccounts, named{"accounts": []AccountID{alice}})
	add("lock head", p.sqlLockHead, owner)
	add("insert account version", sqlInsertVersion, account)
	add("delete head", `DELETE FROM account_head WHERE id = @id AND subaccount = @sub`, owner)
	add("create book", sqlCreateBook, named{"id": int64(1), "name": "n", "data": ""})
	add("append cache point", sqlAppendProjection, BalancePoint{Account: alice, Asset: usd}.columns(1))
	add("closest cache point", sqlClosestProjection, named{"id": alice.ID, "sub": alice.Sub, "asset": int32(usd), "at": int64(0)})
	add("insert head", `INSERT INTO account_head (id, subaccount, version) VALUES (@id, @sub, @version) ON CONFLICT DO NOTHING`, account)
	return out
}

// grant is a privilege on a table, or on a column of it.
type grant struct{ privilege, table string }

func (g grant) String() string { return g.privilege + " on " + g.table }

// grantsOf are the commit role's grants in an encoding, as the schema gives them.
func grantsOf(enc encoding) []grant {
	var out []grant
	add := func(privileges string, tables ...string) {
		for _, t := range tables {
			for _, p := range strings.Split(privileges, ", ") {
				out = append(out, grant{p, t})
			}
		}
	}
	switch enc {
	case indexTables:
		add("SELECT, INSERT", "postings", "transfers", "transfer_accounts", "events", "accounts", "books", "balance_projection")
		add("SELECT, INSERT, DELETE", "active_postings", "reserved_postings")
	case liveTable:
		add("SELECT, INSERT", "postings", "transfers", "transfer_accounts", "events", "accounts", "books", "balance_projection")
		add("SELECT, INSERT, DELETE, UPDATE (reservation)", "live_postings")
	case mutableStatus:
		add("SELECT, INSERT", "transfers", "transfer_accounts", "events", "accounts", "books", "balance_projection")
		add("SELECT, INSERT, UPDATE", "postings")
	}
	add("SELECT, INSERT, UPDATE, DELETE", "sagas", "account_head")
	return out
}

// PrivilegeRow says what a statement needs.
type PrivilegeRow struct {
	Statement string
	SQL       string
	Needs     []string // privileges without which it is refused, e.g. "INSERT on postings"
	Beyond    []string // those of them that are neither SELECT nor INSERT
	Failed    string   // SQLSTATE when it fails with all grants: none does
}

// Tampering is an attempt of the commit role on what it must not change, and the SQLSTATE that it got, "" when it worked.
type Tampering struct{ SQL, SQLState string }

// Privileges measures the statements of a variant over a superuser's session on a database with the variant's schema. Each
// probe is a transaction that is rolled back.
func Privileges(ctx context.Context, db sim.DB, variant string) ([]PrivilegeRow, []Tampering, error) {
	p, err := newProgram(variant)
	if err != nil {
		return nil, nil, err
	}
	var rows []PrivilegeRow
	for _, s := range p.protocolStatements() {
		row := PrivilegeRow{Statement: s.name, SQL: strings.Join(strings.Fields(s.sql), " ")}
		if row.Failed, err = refusal(ctx, db, nil, s); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		for _, g := range grantsOf(p.encoding) {
			if !strings.Contains(s.sql, g.table) {
				continue // there are no triggers, views or foreign keys that would need what the text does not name
			}
			state, err := refusal(ctx, db, &g, s)
			if err != nil {
				return nil, nil, fmt.Errorf("%s without %s: %w", s.name, g, err)
			}
			if state != "42501" {
				continue
			}
			row.Needs = append(row.Needs, g.String())
			if g.privilege != "SELECT" && g.privilege != "INSERT" {
				row.Beyond = append(row.Beyond, g.String())
			}
		}
		rows = append(rows, row)
	}
	tampers, err := tamper(ctx, db, p.encoding)
	return rows, tampers, err
}

// refusal runs a statement as the commit role, without one grant, and gives the SQLSTATE of its failure.
func refusal(ctx context.Context, db sim.DB, without *grant, s statement) (string, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if without != nil {
		if _, err := tx.Exec(ctx, fmt.Sprintf("REVOKE %s ON %s FROM %s", without.privilege, without.table, commitRole)); err != nil {
			return "", err
		}
	}
	if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+commitRole); err != nil {
		return "", err
	}
	_, err = exec(ctx, tx, s.sql, s.args)
	if state := sqlstate(err); state != "" || err == nil {
		return state, nil
	}
	return "", err
}

// tamper tries to rewrite history as the commit role.
func tamper(ctx context.Context, db sim.DB, enc encoding) ([]Tampering, error) {
	attempts := []string{
		`UPDATE postings SET value = '1000000' WHERE transfer_id = 'g' AND idx = 0`,
		`DELETE FROM postings WHERE transfer_id = 'g' AND idx = 0`,
		`TRUNCATE postings`,
	}
	for _, table := range []string{"transfers", "events", "accounts"} {
		attempts = append(attempts, `DELETE FROM `+table, `TRUNCATE `+table)
	}
	attempts = append(attempts, `UPDATE transfers SET transfer = '{}'`, `UPDATE events SET data = ''`, `UPDATE accounts SET flags = 0`)
	switch enc {
	case liveTable:
		attempts = append(attempts, `UPDATE live_postings SET value = '1000000'`)
	case indexTables:
		attempts = append(attempts, `UPDATE active_postings SET value = '1000000'`, `UPDATE reserved_postings SET reservation = 1`)
	}
	var out []Tampering
	for _, sql := range attempts {
		state, err := refusal(ctx, db, nil, statement{sql: sql})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
		out = append(out, Tampering{sql, state})
	}
	return out, nil
}

// reasons say why a statement needs more than INSERT and SELECT.
var reasons = []struct{ verb, why string }{
	{"ON CONFLICT (id) DO UPDATE", "an upsert needs UPDATE, also when it only inserts"},
	{"FOR UPDATE", "a row lock needs UPDATE"},
	{"FOR NO KEY UPDATE", "a row lock needs UPDATE"},
	{"DELETE FROM", "it deletes from an index table or a record of work in progress"},
	{"UPDATE", "it changes the state in place"},
}

// WritePrivileges writes the measured table as Markdown.
func WritePrivileges(w io.Writer, variant string, rows []PrivilegeRow, tampers []Tampering) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| statement | refused with 42501 without | beyond SELECT and INSERT, because |\n|---|---|---|\n", variant)
	for _, r := range rows {
		why := ""
		if len(r.Beyond) > 0 {
			i := slices.IndexFunc(reasons, func(x struct{ verb, why string }) bool { return strings.Contains(r.SQL, x.verb) })
			why = strings.Join(r.Beyond, ", ")
			if i >= 0 {
				why += ": " + reasons[i].why
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Statement, strings.Join(r.Needs, ", "), why)
	}
	b.WriteString("\n| attempt of the commit role | SQLSTATE |\n|---|---|\n")
	for _, t := range tampers {
		state := t.SQLState
		if state == "" {
			state = "**allowed**"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", t.SQL, state)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
