package scheduler

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A checkpoint is a line of magic, then pieces, each with its length before it, then the CRC-32 of all that. The pieces are a
// header as JSON, the visited set part by part, the edges, and the segments of the queue, written down as when spilled.

const checkpointMagic = "simrun checkpoint 1\n"

type checkpointHeader struct {
	Identity    string
	Depth       int
	Expanded    int // states of the present depth
	Fairness    Fairness
	Transitions int
	Levels      []int
	Completed   int
	Stuck       int
	Cut         bool
	Witnesses   []string
	Segments    []checkpointSegment
}

type checkpointSegment struct {
	Part   int // of the next depth; -1 for the present one
	Open   bool
	States int
	Coded  bool
}

// saveOrRemove writes a checkpoint if the search was ended by something that another call can go on from, and removes an old
// one if the search is over.
func (s *search[S]) saveOrRemove() error {
	if s.opt.Checkpoint == "" {
		return nil
	}
	resumable := s.found == nil && slices.ContainsFunc(s.result.BoundsHit, func(b string) bool {
		return b == BoundContext || b == BoundTime || b == BoundStates || b == BoundMemory
	})
	if !resumable {
		if err := os.Remove(s.opt.Checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := s.save(); err != nil {
		return fmt.Errorf("write checkpoint %s: %w", s.opt.Checkpoint, err)
	}
	return nil
}

// save writes the checkpoint beside its place and then moves it there, so that an old one is good until the new one is.
func (s *search[S]) save() (err error) {
	f, err := os.CreateTemp(filepath.Dir(s.opt.Checkpoint), filepath.Base(s.opt.Checkpoint)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<20)
	sum := crc32.NewIEEE()
	w := &pieceWriter{w: io.MultiWriter(buffered, sum)}
	io.WriteString(w.w, checkpointMagic)
	h := checkpointHeader{Identity: s.opt.Identity, Depth: s.depth, Expanded: s.queue.expanded, Fairness: s.opt.Fairness,
		Transitions: s.result.Transitions, Levels: s.result.Levels, Completed: s.result.Completed, Stuck: s.result.Stuck,
		Cut: s.cut, Witnesses: s.result.Witnesses}
	var segments []*segment[S]
	list := func(seg *segment[S], part int, open bool) {
		coded := s.workers[0].codec != nil
		if seg.disk.states > 0 {
			coded = seg.disk.coded
		}
		segments = append(segments, seg)
		h.Segments = append(h.Segments, checkpointSegment{part, open, seg.len(), coded})
	}
	for _, seg := range s.queue.now[s.queue.at:] {
		list(seg, -1, false)
	}
	for p := range s.queue.next {
		for _, seg := range s.queue.next[p].full {
			list(seg, p, false)
		}
		if seg := s.queue.next[p].open; seg != nil {
			list(seg, p, true)
		}
	}
	header, err := json.Marshal(h)
	if err != nil {
		return err
	}
	w.piece(header)
	for p := range s.seen.parts {
		w.numbers(s.seen.parts[p].keys)
		w.numbers(s.seen.parts[p].parents)
	}
	for _, c := range s.edges.chunks {
		w.edges(c)
	}
	w.edges(nil)
	for _, seg := range segments {
		piece, err := s.workers[0].written(seg)
		if err != nil {
			return err
		}
		w.piece(piece)
	}
	if w.err != nil {
		return w.err
	}
	if err := binary.Write(buffered, binary.LittleEndian, sum.Sum32()); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.opt.Checkpoint)
}

// written returns a segment as it is or would be on disk.
func (w *worker[S]) written(seg *segment[S]) ([]byte, error) {
	if seg.disk.states > 0 {
		return seg.disk.read()
	}
	w.spill.buf, _ = w.encode(seg.items, w.spill.buf[:0])
	return w.spill.buf, nil
}

// resume goes on from a checkpoint, if there is one to go on from.
func (s *search[S]) resume() (bool, error) {
	if !s.opt.Resume || s.opt.Checkpoint == "" {
		return false, nil
	}
	f, err := os.Open(s.opt.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := s.restore(f); err != nil {
		return false, fmt.Errorf("resume from %s: %w", s.opt.Checkpoint, err)
	}
	return true, nil
}

func (s *search[S]) restore(f *os.File) error {
	r := &pieceReader{r: bufio.NewReaderSize(f, 1<<20), sum: crc32.NewIEEE()}
	if magic := r.bytes(len(checkpointMagic)); string(magic) != checkpointMagic {
		return errors.New("it is not a checkpoint of this version")
	}
	var h checkpointHeader
	if err := json.Unmarshal(r.piece(), &h); err != nil {
		return errors.Join(r.err, err)
	}
	if h.Identity != s.opt.Identity {
		return fmt.Errorf("it is of another search: %q, not %q", h.Identity, s.opt.Identity)
	}
	if h.Fairness != s.opt.Fairness {
		return errors.New("it was made under another fairness")
	}
	s.depth, s.cut = h.Depth, h.Cut
	s.result.Transitions, s.result.Levels, s.result.Completed, s.result.Stuck = h.Transitions, h.Levels, h.Completed, h.Stuck
	s.workers[0].witnesses = h.Witnesses
	for i := range s.seen.parts {
		p := &s.seen.parts[i]
		p.keys, p.parents = r.numbers(), r.numbers()
		if r.err != nil || len(p.keys) != len(p.parents) || len(p.keys) == 0 {
			return errors.Join(r.err, errors.New("it is damaged"))
		}
		p.n = 0
		for _, fp := range p.keys {
			if fp != 0 {
				p.n++
			}
		}
		p.room = max(0, int(float64(len(p.keys))*loadMost)-p.n)
	}
	for chunk := r.edges(); len(chunk) > 0; chunk = r.edges() {
		s.edges.append(chunk)
	}
	pieces := make([][]byte, len(h.Segments))
	for i := range pieces {
		pieces[i] = r.piece()
	}
	sum := r.sum.Sum32()
	var want uint32
	if err := binary.Read(r.r, binary.LittleEndian, &want); err != nil || r.err != nil || sum != want {
		return errors.Join(r.err, err, errors.New("it is damaged"))
	}
	return s.requeue(h, pieces)
}

// requeue fills the queue from the pieces of a checkpoint. They go to disk: they are read again when it is their turn.
func (s *search[S]) requeue(h checkpointHeader, pieces [][]byte) error {
	w := s.workers[0]
	s.queue.expanded = h.Expanded
	for i, c := range h.Segments {
		seg := &segment[S]{}
		var err error
		if c.Open { // more states will be added to it
			seg.items, err = w.decode(pieces[i], c.States, c.Coded)
		} else {
			if c.Part < 0 {
				w.spill.writing = 1 // of the present depth: the file that is emptied at the next turn
			}
			seg.disk, err = w.spill.put(pieces[i], c.States, c.Coded)
			w.spill.writing = 0
		}
		if err != nil {
			return err
		}
		switch {
		case c.Part < 0:
			s.queue.now = append(s.queue.now, seg)
			s.queue.waiting += c.States
		case c.Open:
			s.queue.next[c.Part].open = seg
			s.queue.next[c.Part].n += c.States
		default:
			s.queue.next[c.Part].full = append(s.queue.next[c.Part].full, seg)
			s.queue.next[c.Part].n += c.States
		}
	}
	return nil
}

// pieceWriter writes pieces until the first error.
type pieceWriter struct {
	w   io.Writer
	buf []byte
	err error
}

func (w *pieceWriter) piece(b []byte) {
	w.length(len(b))
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

func (w *pieceWriter) length(n int) {
	if w.err == nil {
		w.err = binary.Write(w.w, binary.LittleEndian, uint64(n))
	}
}

func (w *pieceWriter) numbers(all []uint64) {
	w.length(len(all) * 8)
	for chunk := range slices.Chunk(all, 8192) {
		w.buf = w.buf[:0]
		for _, x := range chunk {
			w.buf = binary.LittleEndian.AppendUint64(w.buf, x)
		}
		if w.err == nil {
			_, w.err = w.w.Write(w.buf)
		}
	}
}

func (w *pieceWriter) edges(all []edge) {
	w.buf = w.buf[:0]
	for _, e := range all {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, e.from)
		w.buf = binary.LittleEndian.AppendUint64(w.buf, e.to)
		fair := uint32(0)
		if e.fair {
			fair = 1
		}
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(uint32(e.actor))<<32|uint64(fair))
	}
	w.piece(w.buf)
}

// pieceReader reads pieces until the first error; then all are empty.
type pieceReader struct {
	r   *bufio.Reader
	sum hash.Hash32
	err error
}

func (r *pieceReader) bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	b := make([]byte, 0, min(n, 1<<20)) // a damaged length must not ask for all memory at once
	for len(b) < n && r.err == nil {
		from := len(b)
		b = append(b, make([]byte, min(n-from, 1<<20))...)
		_, r.err = io.ReadFull(r.r, b[from:])
	}
	r.sum.Write(b)
	return b
}

func (r *pieceReader) piece() []byte {
	n := r.bytes(8)
	if r.err != nil {
		return nil
	}
	length := binary.LittleEndian.Uint64(n)
	if length > 1<<40 {
		r.err = errors.New("it is damaged")
		return nil
	}
	return r.bytes(int(length))
}

func (r *pieceReader) numbers() []uint64 {
	b := r.piece()
	all := make([]uint64, len(b)/8)
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return all
}

func (r *pieceReader) edges() []edge {
	b := r.piece()
	all := make([]edge, len(b)/24)
	for i := range all {
		e := b[24*i:]
		last := binary.LittleEndian.Uint64(e[16:])
		all[i] = edge{binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]), int32(last >> 32), last&1 == 1}
	}
	return all
}
