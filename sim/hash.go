package sim

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"simrun/model/types"
)

// Hashes are the same in every process and on every machine: failure files hold them. mix is one round of folded 128-bit
// multiplication, as in wyhash.

const (
	hashK0 = 0x9e3779b97f4a7c15
	hashK1 = 0xd6e8feb86659fd93
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^hashK0, bits.RotateLeft64(b, 31)^hashK1)
	return hi ^ lo ^ b
}

func hashString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	if len(s) > 0 {
		var tail [8]byte
		copy(tail[:], s)
		h = mix(h, binary.LittleEndian.Uint64(tail[:]))
	}
	return h
}

func hashValue(h uint64, v types.Value) uint64 {
	h = mix(h, uint64(v.T.Kind)<<16|uint64(v.T.Elem)<<8|b2u(v.Valid))
	if !v.Valid {
		return h
	}
	h = mix(h, uint64(v.N))
	if v.S != "" {
		h = hashString(h, v.S)
	}
	if v.L != nil {
		h = mix(h, uint64(len(v.L.Elems)))
		for _, e := range v.L.Elems {
			h = hashValue(h, e)
		}
	}
	return h
}

// hashReply covers what an actor can observe of a reply.
func hashReply(r *Reply) uint64 {
	h := mix(1, uint64(r.Tx))
	for res := r.Result; res != nil; res = res.Next {
		h = hashString(mix(h, 2), res.Tag)
		for i := range res.Fields {
			h = hashString(h, res.Fields[i].Name)
		}
		h = mix(h, uint64(len(res.Rows)))
		for _, row := range res.Rows {
			for _, v := range row {
				h = hashValue(h, v)
			}
		}
		for _, n := range res.Notices {
			h = hashError(mix(h, 3), n)
		}
	}
	if r.Err != nil {
		h = hashError(mix(h, 4), r.Err)
	}
	return h
}

// hashShown adds to the hash of a reply what a Step shows of it beside what an actor can observe.
func hashShown(h uint64, r *Reply) uint64 {
	h = mix(h, b2u(r.Blocked))
	for _, i := range r.By {
		h = mix(h, uint64(i)+1)
	}
	if r.On != "" {
		h = hashString(h, r.On)
	}
	if r.Err != nil {
		h = hashString(hashString(h, r.Err.Detail), r.Err.Hint)
	}
	return h
}

func hashLocks(h uint64, locks []Lock) uint64 {
	for i := range locks {
		h = hashAny(h, locks[i])
	}
	return h
}

func hashError(h uint64, e *types.Error) uint64 {
	h = hashString(h, e.Code)
	h = hashString(h, e.Severity)
	h = hashString(h, e.Message)
	if e.Constraint != "" {
		h = hashString(h, e.Constraint)
	}
	return h
}

// hashAny covers a plain Go value: what Note, Op and Checkpoint get.
func hashAny(h uint64, v any) uint64 {
	switch v := v.(type) {
	case nil:
		return mix(h, 5)
	case bool:
		return mix(h, 6+b2u(v))
	case int:
		return mix(mix(h, 8), uint64(v))
	case int32:
		return mix(mix(h, 9), uint64(v))
	case int64:
		return mix(mix(h, 10), uint64(v))
	case string:
		return hashString(mix(h, 11), v)
	case time.Time:
		return mix(mix(h, 12), uint64(v.UnixNano()))
	}
	return hashString(mix(h, 13), fmt.Sprintf("%T %+v", v, v))
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
