package sqlcqueue

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.nofailfile", "true") // TestRacy fails on purpose
	os.Exit(m.Run())
}
