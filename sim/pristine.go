package sim

import (
	"fmt"
	"slices"
	"sync"

	"simrun/model"
)

// beginnings is the process-wide cache of the models that runs begin with, by their scripts. Such a model is a function of the
// scripts, and everybody gets a copy of it, so sharing it between systems and goroutines cannot change a run. Setups that are drawn
// by seed mostly have the same schema, and then the statements of their actors need not be compiled again for each of them.
var beginnings struct {
	sync.Mutex
	kept []beginning // the last used first
}

// beginningsMax is how many are kept.
const beginningsMax = 32

// beginning is a model in which scripts were run, and the session that ran them, still open, so that its settings hold for the
// next script.
type beginning struct {
	schema, seed string
	seeded       bool // otherwise only the schema has been run
	session      int
	db           *model.DB // copied with beginnings locked
}

// begun returns the model with the scripts of a setup, which its caller owns.
func begun(setup *Setup) (beginning, error) {
	at := beginning{schema: setup.Schema, seed: setup.Seed, seeded: true}
	if b, ok := kept(at); ok {
		return b, nil
	}
	at.seed, at.seeded = "", false
	b, ok := kept(at)
	if !ok {
		at.db = model.New()
		at.db.SetNow(Epoch)
		at.db.SequentialScans(true) // as the sessions on a server are told, so that rows are locked in a known order
		at.session = at.db.Open("")
		if err := at.script("schema", setup.Schema); err != nil {
			return at, err
		}
		b = at.keep()
	}
	if err := b.script("seed", setup.Seed); err != nil {
		return b, err
	}
	b.seed, b.seeded = setup.Seed, true
	return b.keep(), nil
}

// kept returns a copy of the beginning with the scripts of at.
func kept(at beginning) (beginning, bool) {
	beginnings.Lock()
	defer beginnings.Unlock()
	list := beginnings.kept
	for i, b := range list {
		if b.schema == at.schema && b.seed == at.seed && b.seeded == at.seeded {
			copy(list[1:i+1], list[:i])
			list[0] = b
			b.db = b.db.Clone()
			return b, true
		}
	}
	return at, false
}

// keep adds b to those that are kept, and returns a copy of it.
func (b beginning) keep() beginning {
	beginnings.Lock()
	defer beginnings.Unlock()
	if len(beginnings.kept) == beginningsMax {
		beginnings.kept = beginnings.kept[:beginningsMax-1]
	}
	beginnings.kept = slices.Insert(beginnings.kept, 0, b)
	b.db = b.db.Clone()
	return b
}

func (b beginning) script(name, sql string) error {
	if r := b.db.Submit(b.session, sql, nil); r.Err != nil {
		return fmt.Errorf("the %s: %w", name, &Unsupported{SQL: around(sql, r.Err.Position), Err: r.Err})
	}
	return nil
}
