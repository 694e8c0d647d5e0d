package postgres

import (
	"errors"
	"slices"

	"simrun/sim"
)

// maxParked bounds the databases that wait for another setup; each has the connections of its sessions.
const maxParked = 4

// park keeps the database and the connections of a backend that is shut down for the next setup with the same schema: seeds of
// a swarm draw their setups, and a new database for each costs a hundred times what a reset does. It says no, and changes nothing,
// when a run has changed the schema or the backend has failed.
func (b *Backend) park() bool {
	if b.control == nil || b.altered || b.err != nil || b.control.w.Tx != 'I' {
		return false
	}
	for i, s := range b.sessions {
		if s == nil {
			continue
		}
		// Out of sight of pg_stat_activity, where a setup with fewer actors must not see it.
		if b.Close(i) != nil || !s.parked && s.w.Run("SET application_name = 'simrun, parked'") != nil {
			return false
		}
		s.parked = true
	}
	s := b.server
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	kept := *b // the caller's own is at its end
	b.control, b.sessions, b.database = nil, nil, ""
	s.parked = append(s.parked, &kept)
	var oldest *Backend
	if len(s.parked) > maxParked {
		oldest = s.parked[0]
		s.parked = slices.Delete(s.parked, 0, 1)
	}
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.remove() // its database is dropped with the server at the latest
	}
	return true
}

// unpark gives a parked backend with the setup's schema, at the setup's seed, or nil.
func (s *Server) unpark(setup *sim.Setup) (*Backend, error) {
	s.mu.Lock()
	i := slices.IndexFunc(s.parked, func(b *Backend) bool { return b.setup.Schema == setup.Schema })
	if i < 0 {
		s.mu.Unlock()
		return nil, nil
	}
	b := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	s.mu.Unlock()
	b.setup, b.clean, b.patience = setup, false, deadlockTimeout
	if err := b.Reset(); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	return b, nil
}
