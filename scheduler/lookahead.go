package scheduler

// lookahead knows what the pending choices of a run would touch. It asks a Forecaster, or makes the step on a clone, once for
// each pending choice and again when a step has touched what it would.
type lookahead[S any] struct {
	sys      System[S]
	feet     Footprinter[S]
	forecast Forecaster[S] // nil when sys is none
	release  Releaser[S]   // nil when sys is none
	known    []forecast    // of the last step's pending choices
	next     []forecast    // being built; swaps with known
	result   []Footprint
	last     forecast // the footprint of the last step
}

// forecast owns its slices, which it reuses.
type forecast struct {
	choice Choice
	feet   Footprint
}

func (f *forecast) set(c Choice, feet Footprint) {
	f.choice = c
	f.feet.Reads = append(f.feet.Reads[:0], feet.Reads...)
	f.feet.Writes = append(f.feet.Writes[:0], feet.Writes...)
}

func newLookahead[S any](sys System[S], feet Footprinter[S]) lookahead[S] {
	l := lookahead[S]{sys: sys, feet: feet}
	l.forecast, _ = sys.(Forecaster[S])
	l.release, _ = sys.(Releaser[S])
	return l
}

func (l *lookahead[S]) reset() { l.known = l.known[:0] }

// made keeps the footprint of the last step.
func (l *lookahead[S]) made(feet Footprint) Footprint {
	l.last.set(Choice{}, feet)
	return l.last.feet
}

// pending returns the footprint of each of v.Choices, which are those of s.
func (l *lookahead[S]) pending(s S, v *View) []Footprint {
	l.next, l.result = l.next[:0], l.result[:0]
	for _, c := range v.Choices {
		if len(l.next) < cap(l.next) {
			l.next = l.next[:len(l.next)+1] // with the slices of old
		} else {
			l.next = append(l.next, forecast{})
		}
		f := &l.next[len(l.next)-1]
		if k := l.find(c); k != nil && c.Actor != v.Last && !Dependent(k.feet, v.Made) {
			f.set(c, k.feet)
			continue
		}
		if l.forecast != nil {
			f.set(c, l.forecast.Forecast(s, c))
		} else {
			after := l.sys.Apply(l.sys.Clone(s), c)
			f.set(c, l.feet.Footprint(after))
			if l.release != nil {
				l.release.Release(after)
			}
		}
	}
	for i := range l.next {
		l.result = append(l.result, l.next[i].feet)
	}
	l.known, l.next = l.next, l.known
	return l.result
}

func (l *lookahead[S]) find(c Choice) *forecast {
	for i := range l.known {
		if l.known[i].choice == c {
			return &l.known[i]
		}
	}
	return nil
}
