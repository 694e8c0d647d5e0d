package lin

// The states of a job.
const (
	jobReady   = "ready"
	jobClaimed = "claimed"
	jobDone    = "done"
)

// Jobs is a job queue whose jobs are claimed exactly once, a job a key: enqueue makes a job, claim takes it, finish ends it, release
// hands it back. A job that no operation enqueues was there at the start. An operation that found nothing to do, such as a claim of an
// empty queue, has no place in the history.
func Jobs() Model {
	return Model{
		Name:      "jobs",
		Functions: []string{"enqueue", "claim", "finish", "release"},
		Step: func(state any, op Operation) (bool, any) {
			switch op.F {
			case "enqueue":
				return state == nil, jobReady
			case "claim":
				return state == nil || state == jobReady, jobClaimed
			case "finish":
				return state == jobClaimed, jobDone
			}
			return state == jobClaimed, jobReady
		},
	}
}
