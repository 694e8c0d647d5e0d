package sim

import "time"

type askKind uint8

const (
	askSQL askKind = iota
	askNow
	askSleep
	askChoose
)

type pending struct {
	kind  askKind
	sleep time.Duration
	name  string
	n     int
}

type answer struct {
	now   time.Time
	value int
}

type coroutine struct {
	ops int
}

func (co *coroutine) ask(p *pending) answer     { return answer{} }
func (co *coroutine) emit(e Event)              {}
func (co *coroutine) checkpoint(locals []any)   {}
