package types

import "fmt"

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

// NewError returns an ERROR with the SQLSTATE and message.
func NewError(code, message string) *Error {
	return &Error{Code: code, Severity: "ERROR", Message: message}
}

// Errorf is NewError with a formatted message.
func Errorf(code, format string, args ...any) *Error {
	return NewError(code, fmt.Sprintf(format, args...))
}

// WithDetail returns e with its DETAIL line.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// WithHint returns e with its HINT line.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
