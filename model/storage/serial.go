package storage

// serial is what SSI knows of a serializable transaction.
type serial struct{}

func (c *serial) copy() *serial { return c }

func (st *State) serBegin(s *session)                                               {}
func (st *State) serCommit(s *session) error                                        { return nil }
func (st *State) serEnd(s *session)                                                 {}
func (st *State) serScan(s *session, c *Cursor)                                     {}
func (st *State) serRead(s *session, v *version)                                    {}
func (st *State) serWrite(s *session, r *relation, old *version, row *Row, tid TID) {}
func (f *hasher) serial(s *session) uint64                                          { return 0 }

// MayFailSerializable reports whether a server's coarser SSI granularity could fail the session's transaction with 40001.
func (st *State) MayFailSerializable(s SessionID) bool { return st.sess[s].ser != nil }
