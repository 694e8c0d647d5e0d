package builtin

import "testing"

func TestRegistryIsSound(t *testing.T) {
	for name, fs := range functions {
		for _, f := range fs {
			if f.Name != name || (f.Eval == nil && f.bind == nil) == (f.Rows == nil && f.bindRows == nil) {
				t.Errorf("%s: one of Eval and Rows is wanted", name)
			}
		}
	}
}
