package sim

import (
	"context"
	"testing"
	"time"

	"simrun/model/types"
	"simrun/scheduler"
)

// nothing is a database that does nothing, at no cost: what is measured with it is the world's own.
type nothing struct {
	done [8]uint8 // statements by session
}

var nothingResult = &Result{Tag: "SELECT 1", Fields: []Field{{Name: "v", Type: types.Of(types.Int8)}}, Rows: [][]types.Value{{types.NewInt8(7)}}}

func (n *nothing) Clone() Backend {
	c := *n
	return &c
}

func (n *nothing) Fingerprint() uint64 {
	h := uint64(0)
	for _, d := range n.done {
		h = h<<8 | uint64(d)
	}
	return mix(h, 1)
}

func (n *nothing) CommittedFingerprint() uint64  { return 1 }
func (n *nothing) Open(int, ActorSpec) error     { return nil }
func (n *nothing) Close(int) error               { return nil }
func (n *nothing) Woken(buf []int) []int         { return buf }
func (n *nothing) Resume(int) (Reply, error)     { return Reply{}, nil }
func (n *nothing) Deadlock() []int               { return nil }
func (n *nothing) SetNow(time.Time) error        { return nil }
func (n *nothing) Query(string) (*Result, error) { return &Result{}, nil }
func (n *nothing) Reset() error                  { return nil }
func (n *nothing) Shutdown() error               { return nil }
func (n *nothing) Interrupt(int, string) (Reply, error) {
	return Reply{}, nil
}

func (n *nothing) Submit(i int, _ Request) (Reply, error) {
	n.done[i]++
	return Reply{Result: nothingResult, Tx: 'I'}, nil
}

func nothingSetup(actors, statements int) *Setup {
	s := &Setup{}
	for i := range actors {
		s.Actors = append(s.Actors, ActorSpec{Name: string(rune('a' + i)), Run: ActorFunc(func(ctx context.Context, db DB) error {
			for range statements {
				var v int64
				if err := db.QueryRow(ctx, "SELECT slot, generation FROM ring_cursor($1)", "queue").Scan(&v); err != nil {
					return err
				}
			}
			return nil
		})})
	}
	return s
}

// BenchmarkWorldSearch measures distinct states/s of a search over a database that costs nothing.
func BenchmarkWorldSearch(b *testing.B) {
	b.ReportAllocs()
	states := 0
	for b.Loop() {
		s, err := NewSystem(nothingSetup(3, 60), &nothing{}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		res, err := scheduler.Search(context.Background(), s, scheduler.Options{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		states += res.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}

// BenchmarkWorldRun measures runs/s of 30 steps under random.
func BenchmarkWorldRun(b *testing.B) {
	for _, record := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "recorded"}[record], func(b *testing.B) {
			b.ReportAllocs()
			s, err := NewSystem(nothingSetup(3, 10), &nothing{}, Options{Record: record})
			if err != nil {
				b.Fatal(err)
			}
			r := scheduler.NewRunner(s, scheduler.Random(), scheduler.Limits{})
			r.Plan = &scheduler.Plan{}
			seed := uint64(0)
			for b.Loop() {
				seed++
				if o := r.Run(seed); o.Steps() != 30 {
					b.Fatalf("%d steps", o.Steps())
				}
			}
			b.ReportMetric(float64(seed)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
