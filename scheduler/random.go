package scheduler

// Random picks each choice uniformly: the random walk, the baseline of Thomson, Donaldson and Betts, "Concurrency testing
// using controlled schedulers: an empirical study", TOPC 2016, and good at what many schedules show.
func Random() Strategy { return pacing(&random{}) }

type random struct{ rng source }

func (*random) Name() string                 { return "random" }
func (s *random) Begin(seed uint64, _ *Plan) { s.rng.seed(seed, 0x72616e64) }
func (s *random) Pick(v *View) int           { return s.rng.below(len(v.Choices)) }
