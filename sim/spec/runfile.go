package spec

import (
	"fmt"
	"io"
	"os"
)

// RunFile parses and runs a file, and prints what isolationtester prints.
func RunFile(file string, backend Backend, out, errOut io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s, err := Parse(string(text))
	if err != nil {
		fmt.Fprintln(errOut, err)
		return ErrFailed
	}
	return (&Runner{Spec: s, Backend: backend, Out: out, Err: errOut}).Run()
}

// Refused is the error of a backend that does not support something in a spec.
type Refused struct {
	Construct string // e.g. "MERGE"
}

func (r *Refused) Error() string { return "not supported: " + r.Construct }
