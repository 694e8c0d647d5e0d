package types

// Error is an error of the database as Postgres reports it (Postgres documentation, appendix A and section 55.8).
type Error struct {
	Code     string // SQLSTATE, five characters
	Severity string // ERROR or FATAL
	Message  string // primary message, without detail
	Detail   string
	Hint     string
	Position int // 1-based character in the SQL, 0 when there is none

	Schema, Table, Column, Constraint string
}

// Error gives the message as psql prints it, with the SQLSTATE.
func (e *Error) Error() string { return e.Severity + ": " + e.Message + " (SQLSTATE " + e.Code + ")" }

// Errorf-like constructor: NewError returns an ERROR with the SQLSTATE and message.
func NewError(code, message string) *Error {
	return &Error{Code: code, Severity: "ERROR", Message: message}
}
