package tla

// outside says, by specification, which steps change data that it does not speak of: a part of the step, and the reason. The
// first that fits counts. A commit counts as a change also when it only took row locks.
var outside = map[string][][2]string{
	"PostingsMembership": {
		{"sagas", "write-ahead records are CommitSaga's"},
		{"INTO events", "events are CommitSaga's"},
		{"INTO transfer_accounts", "stored transfers are CommitSaga's"},
		{"_postings", "about a posting that is not followed"},
		{"INTO postings", "about a posting that is not followed"},
		{"crash", "a crash rolls back; what was committed stays"},
		{"commit of", "about postings that are not followed"},
	},
	"CommitSaga": {
		{"crash", "a crash rolls back; what was committed stays"},
		{"commit of", "the transaction found its record gone, or nothing to do"},
		{"_postings", "it matched no row, as the action then does too"},
		{"sagas", "it wrote what was there already"},
		{"INTO", "it found its row there already"},
	},
	"RingLockOrder": {
		{"ring_cursor(", "a producer's statement; producers take no lock of the specification"},
		{"commit of enqueuer", "producers take no lock of the specification"},
		{"commit of reader", "readers take no lock of the specification"},
		{"crash", "the actor held nothing"},
	},
	"RingCursor": {
		{"setval", "how far a lane is claimed; the specification knows only what has finished"},
		{"commit of worker", "a claim; the specification knows only what has finished"},
		{"commit of rotator", "the next slot was busy, or another ring's was rotated"},
		{"commit of pruner", "the slot was empty or is needed still"},
		{"commit of flip", "the flip was done before"},
		{"commit of folder", "nothing was to be trimmed"},
		{"ring_cursor(", "a read; it is a function, which could write"},
		{"crash", "a crash rolls back; what was committed stays"},
	},
	"DeadTuples": {
		{"VACUUM", "nothing was dead, or a pin held it back"},
		{"setval", "sequences have no dead versions"},
		{"commit of worker", "claims and completions write tables of their own"},
		{"commit of rotator", "the next slot was busy"},
		{"commit of pruner", "the slot is needed still, or had nothing to count"},
		{"commit of folder", "the fold stood down"},
		{"commit of flip", "the flip was done before"},
		{"commit of pinned", "a reader writes nothing"},
	},
}
