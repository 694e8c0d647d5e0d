package rings

import (
	"time"

	"simrun/sim"
)

// rings/fold: prune appends deltas, folds drain them and trim the ledgers, readers count, and somebody may pin the horizon.
func init() {
	register(&sim.Scenario{
		Name:   "rings/fold",
		Doc:    "Folds of rollup deltas and ledgers against prune, exact readers and whoever pins the horizon",
		Params: []sim.Param{slotsParam(2), ticksParam(2), {Name: "role", Doc: "1: the folder may not see other roles' sessions", Default: 0, Max: 1}},
		Build:  build("rings/fold", buildFold),
	})
	register(&sim.Scenario{
		Name:   "rings/folds",
		Doc:    "Two folds drain deltas of two queues into the same rollups",
		Params: []sim.Param{slotsParam(2)},
		Build:  build("rings/folds", buildFolds),
	})
}

func buildFolds(cfg sim.Config, p *program) *sim.Setup {
	w := newWorld(p, cfg.Params["slots"], ledger, cursor{0, int64(cfg.Params["slots"])})
	w.from.extra += `INSERT INTO queue_terminal_rollup_deltas VALUES ('q', 1, 0), ('r', 2, 0);
INSERT INTO queue_terminal_rollups VALUES ('q', 0, 0), ('r', 0, 0);
INSERT INTO app_jobs VALUES (901, 'q'), (903, 'r'), (904, 'r');
INSERT INTO app_effects VALUES (901, 1, false), (903, 1, false), (904, 1, false);
`
	w.ended++
	s := w.setup(
		sim.ActorSpec{Name: "folder/1", Kind: "folder", Run: folder{p: p, ticks: 2, deltas: true}},
		sim.ActorSpec{Name: "folder/2", Kind: "folder", Run: folder{p: p, ticks: 2, deltas: true}},
		sim.ActorSpec{Name: "terminal delete", Run: deleter{p, []deletion{{"r", 903, false}, {"q", 901, false}}}},
	)
	s.Faults = sim.Faults{Crash: 1}
	s.Witnesses = []string{"fold-deltas: Done", "delete: Done"}
	return s
}

func buildFold(cfg sim.Config, p *program) *sim.Setup {
	slots, ticks := cfg.Params["slots"], cfg.Params["ticks"]
	w := fullRing(p, slots, ledger)
	w.from.extra += `INSERT INTO queue_terminal_rollup_deltas VALUES ('q', 2, 0), ('r', -1, 0), ('q', 0, 1);
INSERT INTO queue_terminal_rollups VALUES ('r', 2, 0), ('q', 0, 0);
INSERT INTO app_jobs VALUES (901, 'q'), (902, 'q'), (903, 'r'), (904, 'q');
INSERT INTO app_effects VALUES (901, 1, false), (902, 1, false), (903, 1, false), (904, 1, true);
`
	w.ended += 3
	fold := sim.ActorSpec{Name: "folder", Run: folder{p: p, ticks: ticks, deltas: true, ledgers: true}}
	if cfg.Params["role"] == 1 {
		fold.Role = "leader"
	}
	s := w.setup(
		fold,
		sim.ActorSpec{Name: "folder/2", Run: folder{p: p, ticks: 1, deltas: true}},
		sim.ActorSpec{Name: "pruner", Run: pruner{p: p, ring: queueRing, ticks: ticks}},
		sim.ActorSpec{Name: "counter", Run: counter{p: p, queue: "q", ticks: 3}},
		sim.ActorSpec{Name: "terminal delete", Run: deleter{p, []deletion{{"r", 903, false}, {"q", 901, false}}}},
		sim.ActorSpec{Name: "pinned", Run: pinnedReader{hold: pinHold, ticks: 1}},
		sim.ActorSpec{Name: "idle writer", Run: idleWriter{hold: 2 * time.Second, ticks: 1}},
	)
	s.Schema += `CREATE ROLE leader;
GRANT ALL ON ALL TABLES IN SCHEMA public TO leader;
`
	s.Invariants = append(s.Invariants, retention(w.from.cursors()), standsDown(), foldsOn())
	s.Faults = sim.Faults{Crash: 1}
	s.Witnesses = []string{"fold-deltas: Done", "fold-deltas: SkippedPinned", "fold-ledgers: Done", "fold-ledgers: SkippedPinned",
		"prune-0.7 queue: Pruned", "count: Counted q", "pin: held"}
	return s
}
