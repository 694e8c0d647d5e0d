package sim

// Standing says where an actor stands, to explorers that prune by it: its transaction as Reply.Tx has it, and whether its statement
// waits in the database.
func (w *World) Standing(actor int) (tx byte, waits bool) {
	a := &w.actors[actor]
	return a.tx, a.status == blocked
}
