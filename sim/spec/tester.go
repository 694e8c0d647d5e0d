package spec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"simrun/sim/postgres"
	"simrun/sim/postgres/wire"

	"github.com/jackc/pgx/v5/pgconn"
)

// Tester is PostgreSQL's own isolationtester, run as pg_isolation_regress runs it.
type Tester struct {
	Program  string // its path
	Conninfo string // of a database that may be left changed, as libpq reads it
}

// testerPlaces are where isolationtester is, from the folder of the server's programs.
var testerPlaces = []string{"../lib/pgxs/src/test/isolation/isolationtester", "../lib/postgresql/pgxs/src/test/isolation/isolationtester"}

// FindTester looks for isolationtester beside the server's programs. Debian has it in postgresql-client-N.
func FindTester() (string, error) {
	bin, err := postgres.FindBinaries()
	if err != nil {
		return "", err
	}
	for _, place := range testerPlaces {
		if path := filepath.Join(bin, place); isProgram(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no isolationtester beside %s: give its path", bin)
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// Prepare gives the database the settings that pg_isolation_regress gives it.
func (t *Tester) Prepare() error {
	config, err := pgconn.ParseConfig(t.Conninfo)
	if err != nil {
		return err
	}
	w, err := wire.Dial(context.Background(), config)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, name := range []string{"lc_messages", "lc_monetary", "lc_numeric", "lc_time", "bytea_output", "timezone_abbreviations"} {
		if err := w.Run(fmt.Sprintf("ALTER DATABASE %s SET %s = '%s'", quoteName(config.Database), name, regressSettings[name])); err != nil {
			return err
		}
	}
	return nil
}

// Run runs a file and returns all that isolationtester printed. A test that failed has printed why, and is no error.
func (t *Tester) Run(ctx context.Context, file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, t.Program, t.Conninfo)
	cmd.Env = append(os.Environ(), "PGAPPNAME=isolation/"+specName(file), "PGTZ="+regressSettings["TimeZone"], "PGDATESTYLE="+regressSettings["DateStyle"],
		"PGOPTIONS=-c intervalstyle="+regressSettings["IntervalStyle"], "PGCLIENTENCODING="+regressSettings["client_encoding"])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		return nil, err
	}
	return out.Bytes(), ctx.Err()
}

// Duel is a file run by isolationtester and by a backend.
type Duel struct {
	Name    string        `json:"name"`
	Diff    string        `json:"diff,omitempty"` // "" when both printed the same
	Theirs  time.Duration `json:"isolationtester_nanoseconds"`
	Ours    time.Duration `json:"simrun_nanoseconds"`
	Refused string        `json:"refused,omitempty"` // what the backend does not support
}

// Fight runs a file by isolationtester and by the backend, one after the other, and compares what they print. first says that
// isolationtester begins.
func (t *Tester) Fight(ctx context.Context, file string, backend Backend, first bool) (Duel, error) {
	d := Duel{Name: specName(file)}
	var theirs []byte
	var ours bytes.Buffer
	them := func() (err error) {
		begun := time.Now()
		theirs, err = t.Run(ctx, file)
		d.Theirs = time.Since(begun)
		return err
	}
	us := func() error {
		begun := time.Now()
		err := RunFile(file, backend, &ours, &ours)
		d.Ours = time.Since(begun)
		var refused *Refused
		if errors.As(err, &refused) {
			d.Refused = refused.Construct
			return nil
		}
		if err == ErrFailed {
			return nil
		}
		return err
	}
	order := []func() error{us, them}
	if first {
		order = []func() error{them, us}
	}
	for _, run := range order {
		if err := run(); err != nil {
			return d, fmt.Errorf("%s: %w", file, err)
		}
	}
	if d.Refused == "" {
		d.Diff = diff(string(theirs), ours.String())
	}
	return d, nil
}
