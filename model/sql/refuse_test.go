package sql

import (
	"strings"
	"testing"
)

// TestRefused holds what the model would do otherwise than a server to a refusal by name.
func TestRefused(t *testing.T) {
	base := NewDatabase()
	s := base.Open("")
	const schema = "CREATE TABLE t (k int PRIMARY KEY); CREATE TABLE p (k int PRIMARY KEY) PARTITION BY LIST (k)"
	if rep := base.Submit(s, schema, nil); rep.Err != nil {
		t.Fatal(rep.Err)
	}
	for _, c := range []struct{ sql, name string }{
		{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE", "DEFERRABLE"},
		{"BEGIN; SET TRANSACTION DEFERRABLE", "DEFERRABLE"},
		{"SET default_transaction_deferrable = on", "DEFERRABLE"},
		{"BEGIN NOT DEFERRABLE", ""},
		{"SET default_transaction_deferrable = off", ""},
		{"VACUUM (SKIP_LOCKED) t", "SKIP_LOCKED"},
		{"VACUUM t", ""},
		{"CREATE TABLE c (k int REFERENCES p)", "a foreign key that references a partitioned table"},
		{"CREATE TABLE c (k int REFERENCES t) PARTITION BY LIST (k)", ""},
	} {
		err := base.Clone().Submit(s, c.sql, nil).Err
		switch {
		case c.name == "" && err != nil:
			t.Errorf("%s: %v", c.sql, err)
		case c.name != "" && (err == nil || err.Code != "0A000" || !strings.HasPrefix(err.Message, c.name+" is not supported")):
			t.Errorf("%s: %v instead of a refusal", c.sql, err)
		}
	}
}
