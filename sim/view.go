package sim

import "time"

// View is what a Check reads: the committed data, how the actors stand, and the facts they told.
type View interface {
	// Query runs a read-only query as the superuser on committed data.
	Query(sql string) (*Result, error)
	// Now is the simulated time.
	Now() time.Time
	// Done says whether the actor has ended (for good: no restart is due), and with which error.
	Done(actor string) (done bool, err error)
	// Fact returns the last value that the actor gave to Note for the key.
	Fact(actor, key string) (value any, ok bool)
	// Facts calls f with the last value of each actor that told the key, in the order of Setup.Actors.
	Facts(key string, f func(actor string, value any))
	// Memo returns what make returned for the key when it last saw the same committed data, so that invariants, monitors and
	// states share one reading of it. make may use Query only, and its result must not be changed. The key is compared by ==;
	// use a type of your own.
	Memo(key any, make func() any) any
}
