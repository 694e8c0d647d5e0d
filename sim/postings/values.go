package postings

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AccountID names an account: an id and a sub-account, 0 for the main one. Every pair is an account of its own.
type AccountID struct{ ID, Sub int64 }

func (a AccountID) String() string {
	if a.Sub == 0 {
		return strconv.FormatInt(a.ID, 10)
	}
	return fmt.Sprintf("%d.%d", a.ID, a.Sub)
}

func (a AccountID) compare(b AccountID) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Sub, b.Sub))
}

// Asset is the unit of an amount. Amounts of different assets are never added.
type Asset int32

// PostingID names a posting: the transfer that created it and its index there.
type PostingID struct {
	Transfer string
	Idx      int16
}

func (p PostingID) String() string { return fmt.Sprintf("%s:%d", p.Transfer, p.Idx) }

func (p PostingID) compare(q PostingID) int {
	return cmp.Or(cmp.Compare(p.Transfer, q.Transfer), cmp.Compare(p.Idx, q.Idx))
}

// Posting is an immutable fact: Value units of Asset belong to Owner, or are owed by it when negative.
type Posting struct {
	ID    PostingID
	Owner AccountID
	Asset Asset
	Value int64
}

// Output is a posting that a transfer will create; its id follows from the transfer's.
type Output struct {
	Owner AccountID
	Asset Asset
	Value int64
	Payer AccountID // who pays for it: not part of the value, and not of the content id
}

// Snapshot pins the version of an account that a transfer was planned against.
type Snapshot struct {
	Account AccountID
	Version int64
}

// Envelope is a planned transfer. Its content id is a hash of all of it; there is no nonce and no clock in it, so equal
// envelopes are the same transfer.
type Envelope struct {
	Consumes  []PostingID
	Creates   []Output
	Snapshots []Snapshot
	Book      int64  // which book it is entered in; 0 is the one that is always there
	Memo      string // metadata; tells two deposits of the same amount apart
}

// ID is the content id: the first 8 hex digits of SHA-256(SHA-256(canonical bytes)). The released system keeps all 64; runs
// here hold a handful of transfers, and short ids keep timelines readable.
func (e Envelope) ID() string { return contentID(e, "", false) }

// contentID hashes the canonical bytes: big-endian, length-prefixed, a version byte first. book and withPayer exist for two
// historical bugs that put more into the preimage than the transfer's economics.
func contentID(e Envelope, book string, withPayer bool) string {
	const canonicalVersion = 4
	b := []byte{canonicalVersion}
	num := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	str := func(s string) {
		num(int64(len(s)))
		b = append(b, s...)
	}
	num(int64(len(e.Consumes)))
	for _, c := range e.Consumes {
		str(c.Transfer)
		num(int64(c.Idx))
	}
	num(int64(len(e.Creates)))
	for _, o := range e.Creates {
		num(o.Owner.ID)
		num(o.Owner.Sub)
		num(int64(o.Asset))
		num(o.Value)
		if withPayer {
			num(o.Payer.ID)
			num(o.Payer.Sub)
		}
	}
	num(int64(len(e.Snapshots)))
	for _, s := range e.Snapshots {
		num(s.Account.ID)
		num(s.Account.Sub)
		num(s.Version)
	}
	if e.Book != 0 {
		book = strconv.FormatInt(e.Book, 10)
	}
	str(book)
	str(e.Memo)
	first := sha256.Sum256(b)
	second := sha256.Sum256(first[:])
	return hex.EncodeToString(second[:4])
}

// postings gives the postings that the transfer tid with envelope e creates.
func (e Envelope) postings(tid string) []Posting {
	out := make([]Posting, len(e.Creates))
	for i, o := range e.Creates {
		out[i] = Posting{ID: PostingID{tid, int16(i)}, Owner: o.Owner, Asset: o.Asset, Value: o.Value}
	}
	return out
}

// createdOwners are the owners of the created postings, sorted, each once.
func (e Envelope) createdOwners() []AccountID {
	owners := make([]AccountID, 0, len(e.Creates))
	for _, o := range e.Creates {
		owners = append(owners, o.Owner)
	}
	return sortedAccounts(owners)
}

// encodeIntent is the text form of movements.
func encodeIntent(moves []Movement) string {
	parts := make([]string, len(moves))
	for i, m := range moves {
		parts[i] = fmt.Sprintf("%s %s %d %d", m.From, m.To, m.Asset, m.Amount)
	}
	return strings.Join(parts, "; ")
}

func decodeIntent(s string) ([]Movement, error) {
	var out []Movement
	for _, part := range strings.Split(s, "; ") {
		var from, to string
		var m Movement
		if _, err := fmt.Sscan(part, &from, &to, &m.Asset, &m.Amount); err != nil {
			return nil, fmt.Errorf("movement %q: %w", part, err)
		}
		var err error
		if m.From, err = parseAccount(from); err != nil {
			return nil, err
		}
		if m.To, err = parseAccount(to); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func sortedAccounts(a []AccountID) []AccountID {
	slices.SortFunc(a, AccountID.compare)
	return slices.Compact(a)
}

// envelopeText is the JSON form of an envelope, as the transfers and sagas tables hold it.
type envelopeText struct {
	In   []string `json:"in,omitempty"`
	Out  []string `json:"out,omitempty"`
	Pin  []string `json:"pin,omitempty"`
	Book int64    `json:"book,omitempty"`
	Memo string   `json:"memo,omitempty"`
}

func (e Envelope) text() envelopeText {
	var t envelopeText
	for _, c := range e.Consumes {
		t.In = append(t.In, c.String())
	}
	for _, o := range e.Creates {
		s := fmt.Sprintf("%s %d %d", o.Owner, o.Asset, o.Value)
		if o.Payer != (AccountID{}) {
			s += " " + o.Payer.String()
		}
		t.Out = append(t.Out, s)
	}
	for _, s := range e.Snapshots {
		t.Pin = append(t.Pin, fmt.Sprintf("%s@%d", s.Account, s.Version))
	}
	t.Book, t.Memo = e.Book, e.Memo
	return t
}

func (t envelopeText) envelope() (Envelope, error) {
	e := Envelope{Book: t.Book, Memo: t.Memo}
	for _, s := range t.In {
		tid, idx, ok := strings.Cut(s, ":")
		n, err := strconv.ParseInt(idx, 10, 16)
		if !ok || err != nil {
			return e, fmt.Errorf("posting id %q: want TRANSFER:INDEX", s)
		}
		e.Consumes = append(e.Consumes, PostingID{tid, int16(n)})
	}
	for _, s := range t.Out {
		f := strings.Fields(s)
		if len(f) != 3 && len(f) != 4 {
			return e, fmt.Errorf("output %q: want OWNER ASSET VALUE [PAYER]", s)
		}
		owner, err := parseAccount(f[0])
		if err != nil {
			return e, err
		}
		asset, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil {
			return e, fmt.Errorf("asset of output %q: %w", s, err)
		}
		value, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return e, fmt.Errorf("value of output %q: %w", s, err)
		}
		o := Output{Owner: owner, Asset: Asset(asset), Value: value}
		if len(f) == 4 {
			if o.Payer, err = parseAccount(f[3]); err != nil {
				return e, err
			}
		}
		e.Creates = append(e.Creates, o)
	}
	for _, s := range t.Pin {
		acct, version, ok := strings.Cut(s, "@")
		v, err := strconv.ParseInt(version, 10, 64)
		if !ok || err != nil {
			return e, fmt.Errorf("snapshot %q: want ACCOUNT@VERSION", s)
		}
		a, err := parseAccount(acct)
		if err != nil {
			return e, err
		}
		e.Snapshots = append(e.Snapshots, Snapshot{a, v})
	}
	return e, nil
}

func parseAccount(s string) (AccountID, error) {
	id, sub, hasSub := strings.Cut(s, ".")
	var a AccountID
	var err error
	if a.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
		return a, fmt.Errorf("account %q: %w", s, err)
	}
	if hasSub {
		if a.Sub, err = strconv.ParseInt(sub, 10, 64); err != nil {
			return a, fmt.Errorf("account %q: %w", s, err)
		}
	}
	return a, nil
}

func encodeEnvelope(e Envelope) string { return mustJSON(e.text()) }

func decodeEnvelope(s string) (Envelope, error) {
	var t envelopeText
	if err := json.Unmarshal([]byte(s), &t); err != nil {
		return Envelope{}, fmt.Errorf("envelope %q: %w", s, err)
	}
	return t.envelope()
}

// Phase is how far a saga has come, as its write-ahead record says.
type Phase string

// The phases. Once Finalizing is recorded, the protocol only rolls forward.
const (
	Reserving  Phase = "reserving"
	Finalizing Phase = "finalizing"
)

// Record is the write-ahead record of a saga: enough for another process to finish it.
type Record struct {
	RID      int64
	Phase    Phase
	TID      string // of the transfer
	Envelope Envelope
}

type recordText struct {
	RID      int64        `json:"rid"`
	Phase    Phase        `json:"phase"`
	TID      string       `json:"tid"`
	Envelope envelopeText `json:"env"`
}

func encodeRecord(r Record) string {
	return mustJSON(recordText{r.RID, r.Phase, r.TID, r.Envelope.text()})
}

func decodeRecord(s string) (Record, error) {
	var t recordText
	if err := json.Unmarshal([]byte(s), &t); err != nil {
		return Record{}, fmt.Errorf("saga record %q: %w", s, err)
	}
	e, err := t.Envelope.envelope()
	return Record{t.RID, t.Phase, t.TID, e}, err
}

// mustJSON encodes values of this package's own text types, which cannot fail.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
