package scheduler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// spill is where a worker puts pieces of the queue that memory has no room for: two files without a name, one that holds the
// present depth and one that the next depth goes to.
type spill struct {
	dir     string
	files   [2]*os.File
	ends    [2]int64
	writing int // which file the next depth goes to
	written int64
	buf     []byte
	err     error // of a write; the states then stayed in memory
}

// extent says where the states of a segment are.
type extent struct {
	in     *spill
	file   int
	offset int64
	bytes  int
	states int // 0: they are in memory
	coded  bool
}

// turn makes the file that was written the one to read, and empties the other.
func (s *spill) turn() {
	s.writing = 1 - s.writing
	if f := s.files[s.writing]; f != nil && s.ends[s.writing] > 0 {
		s.err = errors.Join(s.err, f.Truncate(0))
	}
	s.ends[s.writing] = 0
}

func (s *spill) close() {
	for _, f := range s.files {
		if f != nil {
			f.Close()
		}
	}
}

// put writes a piece and returns where it is.
func (s *spill) put(piece []byte, states int, coded bool) (extent, error) {
	f := s.files[s.writing]
	if f == nil {
		var err error
		if f, err = os.CreateTemp(s.dir, "simrun-queue-*"); err != nil {
			return extent{}, fmt.Errorf("spill the queue: %w", err)
		}
		os.Remove(f.Name()) // the open file lives on; nothing is left behind, however this ends
		s.files[s.writing] = f
	}
	at := s.ends[s.writing]
	if _, err := f.WriteAt(piece, at); err != nil {
		return extent{}, fmt.Errorf("spill the queue: %w", err)
	}
	s.ends[s.writing] += int64(len(piece))
	s.written += int64(len(piece))
	return extent{s, s.writing, at, len(piece), states, coded}, nil
}

func (e extent) read() ([]byte, error) {
	piece := make([]byte, e.bytes)
	_, err := e.in.files[e.file].ReadAt(piece, e.offset)
	if err != nil {
		return nil, fmt.Errorf("read the spilled queue: %w", err)
	}
	return piece, nil
}

// store moves the states of a segment to disk.
func (w *worker[S]) store(seg *segment[S]) {
	piece, coded := w.encode(seg.items, w.spill.buf[:0])
	w.spill.buf = piece
	e, err := w.spill.put(piece, len(seg.items), coded)
	if err != nil {
		w.spill.err = err
		return
	}
	if w.release != nil {
		for i := range seg.items {
			w.release.Release(seg.items[i].state)
		}
	}
	seg.items, seg.disk = nil, e
}

// load brings the states of a segment into memory.
func (w *worker[S]) load(seg *segment[S]) error {
	if seg.disk.states == 0 {
		return nil
	}
	piece, err := seg.disk.read()
	if err != nil {
		return err
	}
	seg.items, err = w.decode(piece, seg.disk.states, seg.disk.coded)
	seg.disk = extent{}
	return err
}

// encode writes states down: fingerprint and code of each or, for a System that is no Codec, the fingerprints only.
func (w *worker[S]) encode(items []item[S], buf []byte) (piece []byte, coded bool) {
	for i := range items {
		buf = binary.LittleEndian.AppendUint64(buf, items[i].fp)
		if w.codec != nil {
			buf = w.codec.Encode(items[i].state, buf)
		}
	}
	return buf, w.codec != nil
}

func (w *worker[S]) decode(piece []byte, states int, coded bool) ([]item[S], error) {
	items := make([]item[S], 0, states)
	if coded && w.codec == nil {
		return nil, errors.New("the states were written down by a system that could, and this one cannot read them")
	}
	if !coded {
		fps := make([]uint64, states)
		for i := range fps {
			fps[i] = binary.LittleEndian.Uint64(piece[8*i:])
		}
		return w.derive(fps)
	}
	for range states {
		fp := binary.LittleEndian.Uint64(piece)
		s, rest, err := w.codec.Decode(piece[8:])
		if err != nil {
			return nil, fmt.Errorf("read a spilled state: %w", err)
		}
		if normal(w.sys.Fingerprint(s)) != fp {
			return nil, errors.New("read a spilled state: its fingerprint has changed, so Encode leaves something out")
		}
		items, piece = append(items, item[S]{s, fp}), rest
	}
	return items, nil
}

func (s *search[S]) spillError() error {
	for _, w := range s.workers {
		if w.spill.err != nil {
			return w.spill.err
		}
	}
	return nil
}
