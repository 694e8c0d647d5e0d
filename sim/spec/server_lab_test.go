package spec

import (
	"os"
	"testing"
	"time"

	"simrun/sim/postgres/pgtest"
)

func TestLab(t *testing.T) {
	dir := os.Getenv("LAB")
	if dir == "" {
		t.Skip()
	}
	files, _ := Files(dir + "/specs")
	url := pgtest.Database(t)
	s := &Server{URL: url}
	defer s.Close()
	begun := time.Now()
	for _, f := range files {
		v, err := Check(f, dir+"/expected", s)
		if err != nil {
			t.Error(err)
			continue
		}
		if !v.Passed {
			t.Errorf("%s: %s", v.Name, v.Diff)
		}
		t.Log(v.Name, v.Took.Milliseconds())
	}
	t.Log(time.Since(begun))
}
