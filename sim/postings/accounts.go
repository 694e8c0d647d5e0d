package postings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Account flags, by bit.
const (
	FlagFrozen int32 = 1 << iota
	FlagClosed
	FlagInflight
	FlagNoOverdraft // from E3: debits must not exceed credits; before, the policy says it
)

// Policy says what an account may owe (era E2). NoOverdraft: nothing, and it never holds a negative posting. Capped: down to
// its floor. Uncapped: anything. External and System hold negative postings, but are not overdrawn by a shortfall.
type Policy struct {
	Kind  string // "no-overdraft", "capped", "uncapped", "external"
	Floor int64  // lowest balance of a capped account
}

func (p Policy) String() string {
	if p.Kind == "capped" {
		return fmt.Sprintf("capped:%d", p.Floor)
	}
	return p.Kind
}

func parsePolicy(s string) (Policy, error) {
	kind, floor, capped := strings.Cut(s, ":")
	p := Policy{Kind: kind}
	if capped {
		n, err := strconv.ParseInt(floor, 10, 64)
		if err != nil {
			return p, fmt.Errorf("policy %q: %w", s, err)
		}
		p.Floor = n
	}
	return p, nil
}

func (p Policy) mayHoldNegative() bool { return p.Kind != "no-overdraft" }
func (p Policy) mayOverdraw() bool     { return p.Kind == "capped" || p.Kind == "uncapped" }

// floor is the lowest balance the policy allows, and whether there is one.
func (p Policy) floor() (int64, bool) {
	switch p.Kind {
	case "no-overdraft":
		return 0, true
	case "capped":
		return p.Floor, true
	}
	return 0, false
}

// Account is one version of an account.
type Account struct {
	AccountID
	Version int64
	Flags   int32
	Policy  Policy
}

func (a Account) frozen() bool { return a.Flags&FlagFrozen != 0 }
func (a Account) closed() bool { return a.Flags&FlagClosed != 0 }

const sqlCurrentAccounts = `
SELECT a.id, a.subaccount, a.version, a.flags, a.policy
FROM account_head h JOIN accounts a ON a.id = h.id AND a.subaccount = h.subaccount AND a.version = h.version
WHERE (h.id, h.subaccount) IN @accounts ORDER BY a.id, a.subaccount`

// accounts gives the current versions of the accounts that exist, ordered by id.
func (p *program) accounts(ctx context.Context, db session, ids []AccountID) ([]Account, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return p.selectAccounts(ctx, db, sqlCurrentAccounts, named{"accounts": ids})
}

func (p *program) selectAccounts(ctx context.Context, db session, sql string, args named) ([]Account, error) {
	var out []Account
	err := collect(ctx, db, sql, args, func(rows pgx.Rows) error {
		var a Account
		var policy string
		err := rows.Scan(&a.ID, &a.Sub, &a.Version, &a.Flags, &policy)
		if err != nil {
			return err
		}
		a.Flags = p.loadFlags(a.Flags)
		a.Policy, err = parsePolicy(policy)
		out = append(out, a)
		return err
	})
	return out, err
}

// account gives the current version of one account, or notFound.
func (p *program) account(ctx context.Context, db session, id AccountID) (Account, error) {
	found, err := p.accounts(ctx, db, []AccountID{id})
	if err == nil && len(found) == 0 {
		err = notFound{"account " + id.String()}
	}
	if err != nil {
		return Account{}, err
	}
	return found[0], nil
}

const sqlInsertVersion = `INSERT INTO accounts (id, subaccount, version, policy, flags) VALUES (@id, @sub, @version, @policy, @flags) ON CONFLICT DO NOTHING`

func (a Account) columns() named {
	return named{"id": a.ID, "sub": a.Sub, "version": a.Version, "policy": a.Policy.String(), "flags": a.Flags}
}

// errNothing rolls a transaction back whose count is 0: it is not an error of the primitive.
var errNothing = errors.New("nothing to do")

// headVersion locks the head row and gives the version there, 0 when the account has none.
func (p *program) headVersion(ctx context.Context, db session, id AccountID) (int64, error) {
	var version int64
	text, values := bind(p.sqlLockHead, named{"id": id.ID, "sub": id.Sub})
	err := db.QueryRow(ctx, text, values...).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

const sqlLockHead = `SELECT version FROM account_head WHERE id = @id AND subaccount = @sub FOR UPDATE`

// createAccount returns 1, or 0 when the account exists.
func (p *program) createAccount(ctx context.Context, db session, a Account) (int, error) {
	a.Version = 1
	err := inTx(ctx, db, func(tx session) error {
		head, err := p.headVersion(ctx, tx, a.AccountID)
		if err != nil {
			return err
		}
		if head != 0 {
			return errNothing
		}
		if _, err := exec(ctx, tx, sqlInsertVersion, a.columns()); err != nil {
			return err
		}
		return one(exec(ctx, tx, `INSERT INTO account_head (id, subaccount, version) VALUES (@id, @sub, @version) ON CONFLICT DO NOTHING`, a.columns()))
	})
	return onceOrNothing(err)
}

// appendVersion makes next the current version. It returns 1, or 0 when next does not follow the head.
func (p *program) appendVersion(ctx context.Context, db session, next Account) (int, error) {
	return onceOrNothing(inTx(ctx, db, func(tx session) error { return p.appendVersionIn(ctx, tx, next) }))
}

// appendVersionDeleteInsert replaces the head by delete and insert. A waiter that was blocked on the old head row therefore
// wakes to no row at all, and counts 0: the row it waited for is gone, and its statement does not see the new one.
func appendVersionDeleteInsert(p *program) func(ctx context.Context, tx session, next Account) error {
	return func(ctx context.Context, tx session, next Account) error {
		head, err := p.headVersion(ctx, tx, next.AccountID)
		if err != nil {
			return err
		}
		if head == 0 || next.Version != head+1 {
			return errNothing
		}
		if err := one(exec(ctx, tx, sqlInsertVersion, next.columns())); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, `DELETE FROM account_head WHERE id = @id AND subaccount = @sub`, next.columns()); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `INSERT INTO account_head (id, subaccount, version) VALUES (@id, @sub, @version)`, next.columns())
		return err
	}
}

// one turns a count that is not 1 into errNothing.
func one(n int, err error) error {
	if err == nil && n != 1 {
		err = errNothing
	}
	return err
}

func onceOrNothing(err error) (int, error) {
	switch {
	case err == nil:
		return 1, nil
	case errors.Is(err, errNothing):
		return 0, nil
	}
	return 0, err
}
