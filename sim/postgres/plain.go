package postgres

import (
	"maps"
	"slices"
	"strings"
)

// VirtualSchema is the SQL that makes the schema "simrun", from which sessions get the simulated time, for use outside of a Backend.
// They need "public, simrun, pg_catalog" as search_path, and the parameters simrun.now, simrun.txn (timestamps) and simrun.pid.
func VirtualSchema() string { return virtualSchema }

// PlanSettings are the parameters that make a server plan as the model does, so that statements lock rows in the same order, by name.
func PlanSettings() [][2]string {
	var list [][2]string
	for _, name := range slices.Sorted(maps.Keys(sessionSettings)) {
		if strings.HasPrefix(name, "enable_") || strings.HasSuffix(name, "_collapse_limit") || name == "plan_cache_mode" || name == "synchronize_seqscans" {
			list = append(list, [2]string{name, sessionSettings[name]})
		}
	}
	return list
}
