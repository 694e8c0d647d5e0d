package parity

import (
	"errors"
	"fmt"
	"strings"

	"simrun/sim"
	"simrun/sim/postgres"
)

// A driver runs steps on a backend and keeps to its rules: after each step deadlocks are broken and freed sessions go on, until
// nothing moves.
type driver struct {
	db      sim.Backend
	blocked []bool
	tx      []byte
	steps   int
}

// open begins a run.
func open(db sim.Backend, sessions int) (*driver, error) {
	if err := db.Reset(); err != nil {
		return nil, err
	}
	d := &driver{db: db, blocked: make([]bool, sessions), tx: make([]byte, sessions)}
	for i := range sessions {
		d.tx[i] = 'I'
		if err := db.Open(i, sim.ActorSpec{Name: fmt.Sprintf("s%d", i)}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// step runs one step. One of a session that waits is left out.
func (d *driver) step(s Step) error {
	if d.blocked[s.Session] {
		return nil
	}
	d.steps++
	r, err := d.db.Submit(s.Session, sim.Request{SQL: s.SQL})
	if err := d.got(s.Session, r, err); err != nil {
		return err
	}
	for {
		if cycle := d.db.Deadlock(); len(cycle) > 0 {
			victim := cycle[s.Pick%len(cycle)]
			r, err := d.db.Interrupt(victim, "40P01")
			if err := d.got(victim, r, err); err != nil {
				return err
			}
			continue
		}
		woken := d.db.Woken(nil)
		if len(woken) == 0 {
			return nil
		}
		next := woken[s.Pick%len(woken)]
		r, err := d.db.Resume(next)
		if err := d.got(next, r, err); err != nil {
			return err
		}
	}
}

func (d *driver) got(session int, r sim.Reply, err error) error {
	if err != nil {
		return err
	}
	d.blocked[session] = r.Blocked
	if !r.Blocked {
		d.tx[session] = r.Tx
	}
	return nil
}

// finish ends the open transactions and compares the tables.
func (d *driver) finish(tables []string) error {
	for again := true; again; {
		again = false
		for i := range d.tx {
			if d.tx[i] != 'I' && !d.blocked[i] {
				if err := d.step(Step{Session: i, SQL: "COMMIT"}); err != nil {
					return err
				}
				again = true
			}
		}
	}
	for _, t := range tables {
		if _, err := d.db.Query("SELECT * FROM " + t); err != nil {
			return err
		}
	}
	// A query that a divergence has ended gives the divergence; so does this, when nothing else came after it.
	_, err := d.db.Query("SELECT 1")
	return err
}

// Run runs the case on the server and the model and returns the divergence, or nil when there is none. refused is what the
// model does not support, and where the run ended for that reason.
func Run(server *postgres.Server, c *Case, compareLocks bool) (d *sim.Divergence, refused string, err error) {
	return runAnew(func(setup *sim.Setup) (sim.Backend, error) { return server.NewPair(setup, compareLocks) }, c)
}

// runAnew runs the case on a new pair.
func runAnew(pair func(*sim.Setup) (sim.Backend, error), c *Case) (d *sim.Divergence, refused string, err error) {
	db, err := pair(&sim.Setup{Schema: join(c.Schema), Seed: join(c.Seed)})
	if err != nil {
		return nil, "", err
	}
	defer db.Shutdown()
	return runOn(db, c)
}

func runOn(db sim.Backend, c *Case) (*sim.Divergence, string, error) {
	drv, err := open(db, c.Sessions)
	if err == nil {
		for _, s := range c.Steps {
			if err = drv.step(s); err != nil {
				break
			}
		}
		if err == nil {
			err = drv.finish(tablesOf(c.Schema))
		}
	}
	var d *sim.Divergence
	var u *sim.Unsupported
	switch {
	case errors.As(err, &d):
		return d, "", nil
	case errors.As(err, &u):
		return nil, u.Err.Message, nil
	}
	return nil, "", err
}

// tablesOf are the tables that the schema makes.
func tablesOf(schema []string) (names []string) {
	for _, s := range schema {
		f := strings.Fields(strings.NewReplacer("(", " ( ").Replace(s))
		if len(f) > 2 && strings.EqualFold(f[0], "create") && strings.EqualFold(f[1], "table") {
			names = append(names, f[2])
		}
	}
	return names
}
