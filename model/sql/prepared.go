package sql

import "simrun/model/types"

// Prepared is a parsed text that is submitted without being looked up in the cache again.
type Prepared struct{ t *text }

// Prepare parses a text; a syntax error is reported when it is submitted.
func Prepare(sql string) *Prepared { return &Prepared{parseText(sql)} }

// SubmitPrepared is Submit of a parsed text.
func (d *Database) SubmitPrepared(i int, p *Prepared, args []any) Reply {
	return d.submit(i, p.t, args, args != nil)
}

// Query runs statements as the superuser in a session of their own, on a clone: the database stays as it was. Where a lock is
// in the way, the other sessions are rolled back in the clone: the answer is that of the committed data in any case.
func (d *Database) Query(sql string) (*Result, *types.Error) {
	c := d.Clone()
	rep := c.Submit(c.Open(superuser), sql, nil)
	if rep.Blocked {
		c = d.Clone()
		for i := range c.sess {
			c.Close(i)
		}
		rep = c.Submit(c.Open(superuser), sql, nil)
	}
	return rep.Result, rep.Err
}
