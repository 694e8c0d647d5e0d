package postings

import "sync"

// Envelopes and records are read over and over by the invariants, from a handful of texts: decoding is remembered. A decoded
// value is a pure function of its text and never changed, so remembering cannot reach a run.
var (
	envelopeTexts decoded[Envelope]
	recordTexts   decoded[Record]
	intentTexts   decoded[[]Movement]
)

func decodeEnvelopeOnce(s string) (Envelope, error) { return envelopeTexts.get(s, decodeEnvelope) }
func decodeRecordOnce(s string) (Record, error)     { return recordTexts.get(s, decodeRecord) }
func decodeIntentOnce(s string) ([]Movement, error) { return intentTexts.get(s, decodeIntent) }

// decoded remembers the values of texts, a bounded number of them.
type decoded[T any] struct {
	mu     sync.RWMutex
	values map[string]T
}

const maxDecoded = 4096

func (d *decoded[T]) get(s string, decode func(string) (T, error)) (T, error) {
	d.mu.RLock()
	v, ok := d.values[s]
	d.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := decode(s)
	if err != nil {
		return v, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.values == nil || len(d.values) >= maxDecoded {
		d.values = map[string]T{}
	}
	d.values[s] = v
	return v, nil
}
