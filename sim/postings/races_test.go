package postings

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"simrun/scheduler"
	"simrun/sim"
)

// Primitives with several sessions at once: the second half of the conformance suite. Each race runs under many random
// schedules on the model and a few on a server, for every variant; the counts that the sessions got must add up.
type race struct {
	name     string
	postings int // active ones of alice, p0, p1, ..
	reserved int // the first of them are reserved by 7 before
	sessions []func(r *racer) (int, error)
	settings [][2]string
	// judge sees what the sessions counted, their SQLSTATEs, and the ledger after.
	judge func(counts []int, states []string, l *ledger) string
	// but are variants in which the race goes wrong, each a finding.
	but map[string]string
}

type racer struct {
	ctx context.Context
	db  sim.DB
	p   *program
	ids []PostingID
	src *idSource
}

func reserveBy(rid int64) func(r *racer) (int, error) {
	return func(r *racer) (int, error) { return r.p.reserve.do(r.ctx, r.db, r.ids, rid) }
}

func sum(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// total wants the counts to add up and every posting at a place that is allowed.
func total(want int, allowed func(s State) bool) func([]int, []string, *ledger) string {
	return func(counts []int, states []string, l *ledger) string {
		if bad := strings.Join(states, ""); bad != "" {
			return "SQLSTATE " + bad
		}
		if got := sum(counts); got != want {
			return fmt.Sprintf("counts %v, want %d in all", counts, want)
		}
		for _, id := range l.ids {
			if s := l.state(id); l.P[id].Owner == alice && !allowed(s) {
				return fmt.Sprintf("posting %s is %s", id, s)
			}
		}
		return ""
	}
}

var races = []race{
	{
		name: "sessions reserve the same postings", postings: 4,
		sessions: []func(r *racer) (int, error){reserveBy(7), reserveBy(8), reserveBy(9)},
		judge:    total(4, func(s State) bool { return s.Place == Held }),
	},
	{
		name: "one reservation id claims twice", postings: 2,
		sessions: []func(r *racer) (int, error){reserveBy(7), reserveBy(7)},
		judge:    total(2, func(s State) bool { return s == State{Held, 7} }),
	},
	{
		name: "release and consume of one reservation", postings: 1, reserved: 1,
		sessions: []func(r *racer) (int, error){
			func(r *racer) (int, error) { return r.p.release.do(r.ctx, r.db, r.ids, 7) },
			func(r *racer) (int, error) {
				n, err := r.p.consume.do(r.ctx, r.db, r.ids, 7)
				return 10 * n, err
			},
		},
		judge: func(counts []int, _ []string, l *ledger) string {
			want := map[int]Place{1: Active, 10: Spent}[sum(counts)]
			if s := l.state(PostingID{genesis, 0}); s.Place != want || want == Missing {
				return fmt.Sprintf("counts %v, and the posting is %s", counts, s)
			}
			return ""
		},
		but: map[string]string{variantShipped: "an insert-first release brings a consumed posting back"},
	},
	{
		name: "release by one, claim by another", postings: 1, reserved: 1,
		sessions: []func(r *racer) (int, error){
			func(r *racer) (int, error) { return r.p.release.do(r.ctx, r.db, r.ids, 7) },
			func(r *racer) (int, error) {
				n, err := r.p.reserve.do(r.ctx, r.db, r.ids, 8)
				return 10 * n, err
			},
		},
		judge: func(counts []int, _ []string, l *ledger) string {
			want := map[int]State{1: {Place: Active}, 11: {Held, 8}}[sum(counts)]
			if s := l.state(PostingID{genesis, 0}); s != want {
				return fmt.Sprintf("counts %v, and the posting is %s", counts, s)
			}
			return ""
		},
		but: map[string]string{variantShipped: "an insert-first claim deletes what it did not copy"},
	},
	{
		name: "inserts of the same postings, and a spender of them", postings: 0,
		sessions: []func(r *racer) (int, error){insertShared, insertShared, func(r *racer) (int, error) {
			ids := []PostingID{{"x", 0}, {"x", 1}}
			if _, err := r.p.reserve.do(r.ctx, r.db, ids, 8); err != nil {
				return 0, err
			}
			n, err := r.p.consume.do(r.ctx, r.db, ids, 8)
			return 10 * n, err
		}},
		judge: func(counts []int, _ []string, l *ledger) string {
			spent := 0
			for i := range int16(2) {
				switch s := l.state(PostingID{"x", i}); s.Place {
				case Spent:
					spent++
				case Active:
				default:
					return fmt.Sprintf("posting x:%d is %s", i, s)
				}
			}
			if got := sum(counts); got != 2+10*spent {
				return fmt.Sprintf("counts %v, and %d are spent", counts, spent)
			}
			return ""
		},
		but: map[string]string{variantShipped: "an insert-first claim deletes what it did not copy"},
	},
	{
		name:     "events with one key",
		sessions: []func(r *racer) (int, error){appendShared, appendShared, appendShared},
		judge: func(counts []int, _ []string, l *ledger) string {
			n, seq := 0, int64(0)
			for _, e := range l.E {
				if e.Dedup == "shared" {
					n, seq = n+1, e.Seq
				}
			}
			for _, c := range counts {
				if n != 1 || int64(c) != seq {
					return fmt.Sprintf("the sessions got %v, and there are %d events, %d", counts, n, seq)
				}
			}
			return ""
		},
	},
	{
		name: "versions of one account",
		sessions: []func(r *racer) (int, error){
			func(r *racer) (int, error) {
				return r.p.appendVersion(r.ctx, r.db, Account{AccountID: alice, Version: 2, Policy: noOverdraft})
			},
			func(r *racer) (int, error) {
				return r.p.appendVersion(r.ctx, r.db, Account{AccountID: alice, Version: 2, Flags: FlagFrozen, Policy: noOverdraft})
			},
		},
		judge: func(counts []int, states []string, l *ledger) string {
			if sum(counts) != 1 || strings.Join(states, "") != "" {
				return fmt.Sprintf("counts %v %v", counts, states)
			}
			return checkVersions(l)
		},
	},
	{
		name: "creations of one account",
		sessions: []func(r *racer) (int, error){
			func(r *racer) (int, error) {
				return r.p.createAccount(r.ctx, r.db, Account{AccountID: dave, Policy: noOverdraft})
			},
			func(r *racer) (int, error) {
				return r.p.createAccount(r.ctx, r.db, Account{AccountID: dave, Policy: uncapped})
			},
		},
		judge: func(counts []int, states []string, l *ledger) string {
			if sum(counts) != 1 || strings.Join(states, "") != "" {
				return fmt.Sprintf("counts %v %v", counts, states)
			}
			return checkVersions(l)
		},
	},
	{
		name: "claims under REPEATABLE READ", postings: 1,
		settings: [][2]string{{"default_transaction_isolation", "repeatable read"}},
		sessions: []func(r *racer) (int, error){reserveBy(7), reserveBy(8)},
		judge: func(counts []int, states []string, l *ledger) string {
			for _, s := range states {
				if s != "" && s != "40001" {
					return "SQLSTATE " + s
				}
			}
			if s := l.state(PostingID{genesis, 0}); sum(counts) != 1 || s.Place != Held {
				return fmt.Sprintf("counts %v, and the posting is %s", counts, s)
			}
			return ""
		},
	},
}

func insertShared(r *racer) (int, error) {
	return r.p.insert.do(r.ctx, r.db, []Posting{{PostingID{"x", 0}, bob, usd, 1}, {PostingID{"x", 1}, bob, usd, 2}})
}

func appendShared(r *racer) (int, error) {
	seq, err := r.p.appendEvent(r.ctx, r.db, r.src, "k", "d", "shared")
	return int(seq), err
}

// setup makes the race of a variant.
func (x *race) setup(t *testing.T, variant string) *sim.Setup {
	t.Helper()
	p, err := newProgram(variant)
	if err != nil {
		t.Fatal(err)
	}
	open := opening{}
	open.account(external, external0, 0)
	open.account(alice, noOverdraft, 0)
	var ids []PostingID
	for range x.postings {
		ids = append(ids, open.posting(alice, usd, 10))
	}
	seed := open.sql(p.encoding)
	for _, id := range ids[:x.reserved] {
		for _, sql := range p.reserve.stmts {
			sql = strings.ReplaceAll(sql, "@ids", fmt.Sprintf("(('%s', %d))", id.Transfer, id.Idx))
			seed += strings.ReplaceAll(sql, "@rid", "7") + ";\n"
		}
	}
	s := &sim.Setup{Schema: schemaOf(p.encoding), Seed: seed}
	for i, session := range x.sessions {
		s.Actors = append(s.Actors, sim.ActorSpec{
			Name: fmt.Sprintf("session-%d", i+1), Role: commitRole, Settings: x.settings,
			Run: sim.ActorFunc(func(ctx context.Context, db sim.DB) error {
				n, err := session(&racer{ctx, db, p, ids, nodeIDs(i+1, 0)})
				sim.Note(ctx, "count", n)
				sim.Note(ctx, "sqlstate", sqlstate(err))
				return nil
			}),
		})
	}
	return s
}

func TestRaces(t *testing.T) {
	onEachBackend(t, func(t *testing.T, backend backendMaker) {
		runs, tried := 300, variants()
		if strings.HasSuffix(t.Name(), "server") { // where a database for each race is most of the time
			runs, tried = 4, []string{variantSeed, variantLive, variantRepaired}
		}
		for _, x := range races {
			for _, variant := range tried {
				t.Run(x.name+"/"+variant, func(t *testing.T) {
					p, err := newProgram(variant)
					if err != nil {
						t.Fatal(err)
					}
					setup := x.setup(t, variant)
					b, err := backend(setup)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = b.Shutdown() }()
					sys, err := sim.NewSystem(setup, b, sim.Options{Record: true})
					if err != nil {
						t.Fatal(err)
					}
					r := scheduler.NewRunner(sys, scheduler.Random(), scheduler.Limits{Steps: 500})
					var last *sim.World
					r.OnStep = func(_ int, _ scheduler.Choice, w *sim.World) { last = w }
					wrong := ""
					for seed := range runs {
						if o := r.Run(uint64(seed)); o.Err != nil || o.Failed() || o.Status != scheduler.Completed {
							t.Fatalf("seed %d: %v %v %v", seed, o.Err, o.Violation, o.Status)
						}
						var counts []int
						var states []string
						for _, a := range setup.Actors {
							n, _ := last.Fact(a.Name, "count")
							s, _ := last.Fact(a.Name, "sqlstate")
							counts, states = append(counts, n.(int)), append(states, s.(string))
						}
						l := readLedger(last.Query, p.encoding)
						if l.err != "" {
							t.Fatal(l.err)
						}
						if got := x.judge(counts, states, l); got != "" {
							wrong = fmt.Sprintf("seed %d: %s", seed, got)
							break
						}
					}
					finding := x.but[variant]
					switch {
					case finding == "" && wrong != "":
						t.Error(wrong)
					case finding != "" && wrong == "" && runs > 100:
						t.Errorf("no run shows that %s", finding)
					}
				})
			}
		}
	})
}
