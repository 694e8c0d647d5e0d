package sim

import (
	"fmt"
	"sync"
	"testing"
)

// The model that a setup begins with is what its scripts make of an empty one, whatever was opened before and has been done to it
// since: settings of the schema hold for the seed, and nothing of one copy is seen in another.
func TestModelsOfASchemaBeginAlike(t *testing.T) {
	setup := func(k int) *Setup {
		return &Setup{
			Schema: "CREATE SCHEMA other; SET search_path TO other; CREATE TABLE t (id int PRIMARY KEY)",
			Seed:   fmt.Sprintf("INSERT INTO t VALUES (%d)", k),
		}
	}
	first := make([]uint64, beginningsMax+2) // more than are kept
	for round := range 3 {
		for k := range first {
			b, err := NewModel(setup(k))
			if err != nil {
				t.Fatal(err)
			}
			hash := b.(Cloner).Fingerprint()
			if round == 0 {
				first[k] = hash
			}
			if hash != first[k] || k > 0 && hash == first[k-1] {
				t.Fatalf("round %d, seed %d: the model begins as %x; at first as %x", round, k, hash, first[k])
			}
			if r, err := b.Query("SELECT id FROM other.t"); err != nil || len(r.Rows) != 1 || r.Rows[0][0].N != int64(k) {
				t.Fatalf("round %d, seed %d: %v %v", round, k, r, err)
			}
			if err := b.Open(0, ActorSpec{}); err != nil {
				t.Fatal(err)
			}
			if r, err := b.Submit(0, Request{SQL: "DROP TABLE other.t; SELECT 1"}); err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
		}
	}
}

// A script that fails is not kept, and says so each time; its error names the script.
func TestAModelThatCannotBegin(t *testing.T) {
	for range 2 {
		if _, err := NewModel(&Setup{Schema: "CREATE TABLE t (id int)", Seed: "INSERT INTO u VALUES (1)"}); err == nil || err.Error()[:8] != "the seed" {
			t.Fatal(err)
		}
		if _, err := NewModel(&Setup{Schema: "CREATE TABLE"}); err == nil || err.Error()[:10] != "the schema" {
			t.Fatal(err)
		}
	}
}

// Goroutines may open models of one schema at once.
func TestModelsBeginAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for k := range 20 {
				b, err := NewModel(&Setup{Schema: "CREATE TABLE once (id int PRIMARY KEY)", Seed: fmt.Sprintf("INSERT INTO once VALUES (%d)", k%3)})
				if err != nil {
					t.Error(err)
					return
				}
				b.(*modelBackend).db.Open("")
				if r := b.(*modelBackend).db.Submit(0, "UPDATE once SET id = id + 10", nil); r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
	wg.Wait()
}
