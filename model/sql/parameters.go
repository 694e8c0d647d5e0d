package sql

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"simrun/model/types"
)

// parameter describes a run-time parameter that the model knows (Postgres documentation, chapter 20).
type parameter struct {
	value string // default, as SHOW prints it
	// check brings a value to the form in which SHOW prints it, or says why it is none; nil takes any.
	check func(name, v string) (string, error)
	fixed bool // cannot be changed
	super bool // only a superuser may change it
}

// anything is a parameter whose value is not looked at.
func anything(value string) parameter { return parameter{value: value} }

func fixed(value string) parameter { return parameter{value: value, fixed: true} }

func (p parameter) bySuperuser() parameter {
	p.super = true
	return p
}

// flagOf is a Boolean parameter.
func flagOf(value string) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) {
		if b, ok := boolean(v); ok {
			return b, nil
		}
		return "", types.Errorf("22023", "parameter %q requires a Boolean value", name)
	}}
}

// boolean reads a Boolean as parse_bool does: any beginning of a word that is unique.
func boolean(v string) (string, bool) {
	v = strings.ToLower(v)
	for _, w := range [...]struct {
		word, is string
		least    int
	}{{"true", "on", 1}, {"false", "off", 1}, {"yes", "on", 1}, {"no", "off", 1}, {"on", "on", 2}, {"off", "off", 2}, {"1", "on", 1}, {"0", "off", 1}} {
		if len(v) >= w.least && strings.HasPrefix(w.word, v) {
			return w.is, true
		}
	}
	return "", false
}

// oneOf is a parameter with a list of values, the default first in value.
func oneOf(value string, list ...string) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) { return choose(name, v, list) }}
}

func choose(name, v string, list []string) (string, error) {
	for _, x := range list {
		if strings.EqualFold(x, v) {
			return x, nil
		}
	}
	return "", types.Errorf("22023", "invalid value for parameter %q: %q", name, v).
		WithHint("Available values: %s.", strings.Join(list, ", "))
}

// switched is oneOf(list) where words for a Boolean are on and off too.
func switched(value string, list ...string) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) {
		if slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, v) }) {
			return strings.ToLower(v), nil
		}
		if w := strings.ToLower(v); slices.Contains([]string{"true", "yes", "1"}, w) {
			return "on", nil
		} else if slices.Contains([]string{"false", "no", "0"}, w) {
			return "off", nil
		}
		return choose(name, v, list)
	}}
}

// only is a parameter of which the model has no more than some of the values that Postgres takes.
func only(value string, modelled ...string) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) {
		for _, m := range modelled {
			if strings.EqualFold(m, v) {
				return value, nil
			}
		}
		return "", types.Errorf("0A000", "%s = %q is not supported by the model", name, v)
	}}
}

// A unit is one in which a number can be written, in terms of the parameter's own.
type unit struct {
	name string
	is   float64
}

// The units of times and sizes, from the greatest on: those of a parameter in milliseconds, in kB, in blocks of 8 kB.
var (
	noUnits    []unit
	timeUnits  = []unit{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {"us", 0.001}}
	kbUnits    = []unit{{"TB", 1 << 30}, {"GB", 1 << 20}, {"MB", 1 << 10}, {"kB", 1}, {"B", 1.0 / 1024}}
	blockUnits = []unit{{"TB", 1 << 27}, {"GB", 1 << 17}, {"MB", 1 << 7}, {"kB", 1.0 / 8}, {"B", 1.0 / 8192}}
)

const (
	timeHint = `Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`
	sizeHint = `Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".`
)

// number reads a number with its unit, in the parameter's own.
func number(v string, units []unit) (n float64, hint string, ok bool) {
	v = strings.TrimSpace(v)
	end := 0
	if i, err := strconv.ParseInt(v, 0, 64); err == nil {
		return float64(i), "", true
	}
	for end < len(v) && strings.ContainsRune("0123456789+-.", rune(v[end])) {
		end++
	}
	if end+1 < len(v) && (v[end] == 'e' || v[end] == 'E') && strings.ContainsRune("0123456789+-", rune(v[end+1])) {
		for end++; end < len(v) && strings.ContainsRune("0123456789+-", rune(v[end])); {
			end++
		}
	}
	n, err := strconv.ParseFloat(v[:end], 64)
	if err != nil {
		return 0, "", false
	}
	name := strings.TrimSpace(v[end:])
	if name == "" {
		return n, "", true
	}
	for _, u := range units {
		if u.name == name {
			return n * u.is, "", true
		}
	}
	switch {
	case len(units) == 0:
		return 0, "", false
	case units[0].name == "d":
		return 0, timeHint, false
	}
	return 0, sizeHint, false
}

// whole is an integer parameter from low to high. base names its unit where an error gives a number, "" for none.
func whole(value string, low, high int64, base string, units []unit) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) {
		f, hint, ok := number(v, units)
		if n := math.RoundToEven(f); ok && (n > math.MaxInt32 || n < math.MinInt32) {
			ok, hint = false, "Value exceeds integer range."
		}
		if !ok {
			return "", invalid(name, v, hint)
		}
		n := int64(math.RoundToEven(f))
		if n < low || n > high {
			return "", types.Errorf("22023", "%d%s is outside the valid range for parameter %q (%d .. %d)", n, base, name, low, high)
		}
		return inUnits(float64(n), units), nil
	}}
}

// rational is a parameter of type real.
func rational(value string, low, high float64, units []unit) parameter {
	return parameter{value: value, check: func(name, v string) (string, error) {
		n, hint, ok := number(v, units)
		if !ok {
			return "", invalid(name, v, hint)
		}
		if n < low || n > high {
			return "", types.Errorf("22023", "%s is outside the valid range for parameter %q (%s .. %s)", g6(n), name, g6(low), g6(high))
		}
		return inUnits(n, units), nil
	}}
}

func invalid(name, v, hint string) error {
	e := types.Errorf("22023", "invalid value for parameter %q: %q", name, v)
	if hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// inUnits prints a number in the greatest unit of which it is a multiple.
func inUnits(n float64, units []unit) string {
	if n > 0 {
		for _, u := range units {
			if q := n / u.is; q == math.Trunc(q) {
				return g6(q) + u.name
			}
		}
	}
	return g6(n)
}

// g6 is C's %g for a number that is no integer, and all digits of one that is.
func g6(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e6 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', 6, 64)
}

// cost is a planner's cost.
func cost(value string) parameter { return rational(value, 0, math.MaxFloat64, noUnits) }

func count(value string, low, high int64) parameter { return whole(value, low, high, "", noUnits) }

// timeout is a time in milliseconds.
func timeout(value string) parameter { return whole(value, 0, math.MaxInt32, " ms", timeUnits) }

func kilobytes(value string, low int64) parameter {
	return whole(value, low, math.MaxInt32, " kB", kbUnits)
}

func blocks(value string, low, high int64) parameter {
	return whole(value, low, high, " 8kB", blockUnits)
}

var levels = []string{"serializable", "repeatable read", "read committed", "read uncommitted"}

var severities = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

// parameters are those the model knows, with the defaults of a fresh server. Those that only steer planning or logging are
// accepted and have no effect.
var parameters = map[string]parameter{
	"application_name":                    anything(""),
	"bytea_output":                        only("hex", "hex"),
	"check_function_bodies":               flagOf("on"),
	"client_encoding":                     only("UTF8", "UTF8", "utf-8", "unicode"),
	"client_min_messages":                 oneOf("notice", severities...),
	"constraint_exclusion":                switched("partition", "partition", "on", "off"),
	"cpu_index_tuple_cost":                cost("0.005"),
	"cpu_operator_cost":                   cost("0.0025"),
	"cpu_tuple_cost":                      cost("0.01"),
	"cursor_tuple_fraction":               rational("0.1", 0, 1, noUnits),
	"datestyle":                           only("ISO, MDY", "ISO", "ISO, MDY", "ISO,MDY"),
	"deadlock_timeout":                    whole("1s", 1, math.MaxInt32, " ms", timeUnits).bySuperuser(),
	"default_statistics_target":           count("100", 1, 10000),
	"default_transaction_deferrable":      flagOf("off"),
	"default_transaction_isolation":       oneOf("read committed", levels...),
	"default_transaction_read_only":       flagOf("off"),
	"effective_cache_size":                blocks("4GB", 1, math.MaxInt32),
	"effective_io_concurrency":            count("1", 0, 1000),
	"enable_async_append":                 flagOf("on"),
	"enable_bitmapscan":                   flagOf("on"),
	"enable_gathermerge":                  flagOf("on"),
	"enable_hashagg":                      flagOf("on"),
	"enable_hashjoin":                     flagOf("on"),
	"enable_incremental_sort":             flagOf("on"),
	"enable_indexonlyscan":                flagOf("on"),
	"enable_indexscan":                    flagOf("on"),
	"enable_material":                     flagOf("on"),
	"enable_memoize":                      flagOf("on"),
	"enable_mergejoin":                    flagOf("on"),
	"enable_nestloop":                     flagOf("on"),
	"enable_parallel_append":              flagOf("on"),
	"enable_parallel_hash":                flagOf("on"),
	"enable_partition_pruning":            flagOf("on"),
	"enable_partitionwise_aggregate":      flagOf("off"),
	"enable_partitionwise_join":           flagOf("off"),
	"enable_seqscan":                      flagOf("on"),
	"enable_sort":                         flagOf("on"),
	"enable_tidscan":                      flagOf("on"),
	"escape_string_warning":               flagOf("on"),
	"extra_float_digits":                  count("1", -15, 3),
	"force_parallel_mode":                 switched("off", "off", "on", "regress"),
	"from_collapse_limit":                 count("8", 1, math.MaxInt32),
	"geqo":                                flagOf("on"),
	"geqo_effort":                         count("5", 1, 10),
	"geqo_generations":                    count("0", 0, math.MaxInt32),
	"geqo_pool_size":                      count("0", 0, math.MaxInt32),
	"geqo_seed":                           rational("0", 0, 1, noUnits),
	"geqo_selection_bias":                 rational("2", 1.5, 2, noUnits),
	"geqo_threshold":                      count("12", 2, math.MaxInt32),
	"hash_mem_multiplier":                 rational("2", 1, 1000, noUnits),
	"idle_in_transaction_session_timeout": timeout("0"),
	"intervalstyle":                       only("postgres", "postgres"),
	"is_superuser":                        fixed("on"),
	"jit":                                 flagOf("on"),
	"jit_above_cost":                      rational("100000", -1, math.MaxFloat64, noUnits),
	"jit_inline_above_cost":               rational("500000", -1, math.MaxFloat64, noUnits),
	"jit_optimize_above_cost":             rational("500000", -1, math.MaxFloat64, noUnits),
	"join_collapse_limit":                 count("8", 1, math.MaxInt32),
	"lock_timeout":                        timeout("0"),
	"log_lock_waits":                      flagOf("off").bySuperuser(),
	"log_min_messages":                    oneOf("warning", append(slices.Clone(severities), "info", "fatal", "panic")...).bySuperuser(),
	"log_statement":                       oneOf("none", "none", "ddl", "mod", "all").bySuperuser(),
	"maintenance_work_mem":                kilobytes("64MB", 1024),
	"max_parallel_maintenance_workers":    count("2", 0, 1024),
	"max_parallel_workers":                count("8", 0, 1024),
	"max_parallel_workers_per_gather":     count("2", 0, 1024),
	"min_parallel_index_scan_size":        blocks("512kB", 0, 715827882),
	"min_parallel_table_scan_size":        blocks("8MB", 0, 715827882),
	"parallel_leader_participation":       flagOf("on"),
	"parallel_setup_cost":                 cost("1000"),
	"parallel_tuple_cost":                 cost("0.1"),
	"plan_cache_mode":                     oneOf("auto", "auto", "force_generic_plan", "force_custom_plan"),
	"random_page_cost":                    cost("4"),
	"recursive_worktable_factor":          rational("10", 0.001, 1e6, noUnits),
	"role":                                anything("none"),
	"row_security":                        flagOf("on"),
	"search_path":                         anything(defaultPath),
	"seq_page_cost":                       cost("1"),
	"server_version":                      fixed("15.0"),
	"server_version_num":                  fixed("150000"),
	"session_authorization":               anything(superuser),
	"standard_conforming_strings":         only("on", "on", "true", "yes", "1"),
	"statement_timeout":                   timeout("0"),
	"synchronize_seqscans":                flagOf("on"),
	"synchronous_commit":                  switched("on", "local", "remote_write", "remote_apply", "on", "off"),
	"temp_buffers":                        blocks("8MB", 100, 1073741823),
	"timezone":                            only("UTC", "UTC", "GMT", "Etc/UTC"),
	"track_activities":                    flagOf("on").bySuperuser(),
	"transaction_isolation":               oneOf("read committed", levels...),
	"transaction_read_only":               flagOf("off"),
	"transaction_deferrable":              flagOf("off"),
	"work_mem":                            kilobytes("4MB", 64),
}

// otherParameters are those of Postgres 15 that the model has nothing to do with.
var otherParameters = strings.Fields(`allow_in_place_tablespaces allow_system_table_mods array_nulls backend_flush_after
	backslash_quote backtrace_functions compute_query_id createrole_self_grant debug_discard_caches debug_pretty_print debug_print_parse
	debug_print_plan debug_print_rewritten default_table_access_method default_tablespace default_text_search_config
	default_toast_compression dynamic_library_path gin_fuzzy_search_limit gin_pending_list_limit idle_session_timeout
	ignore_checksum_failure jit_dump_bitcode jit_expressions jit_tuple_deforming lc_messages lc_monetary lc_numeric lc_time
	lo_compat_privileges local_preload_libraries log_duration log_error_verbosity log_executor_stats log_min_duration_sample
	log_min_duration_statement log_min_error_statement log_parameter_max_length log_parameter_max_length_on_error log_parser_stats
	log_planner_stats log_replication_commands log_statement_sample_rate log_statement_stats log_temp_files
	log_transaction_sample_rate logical_decoding_work_mem maintenance_io_concurrency max_stack_depth password_encryption
	quote_all_identifiers restrict_nonsystem_relation_kind session_preload_libraries session_replication_role
	stats_fetch_consistency temp_file_limit temp_tablespaces timezone_abbreviations trace_notify trace_sort track_counts
	track_functions track_io_timing track_wal_io_timing transform_null_equals update_process_title vacuum_cost_delay
	vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit vacuum_cost_page_miss vacuum_failsafe_age
	vacuum_freeze_min_age vacuum_freeze_table_age vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age
	vacuum_multixact_freeze_table_age wal_compression wal_consistency_checking wal_init_zero wal_recycle wal_sender_timeout
	wal_skip_threshold commit_delay commit_siblings xmlbinary xmloption zero_damaged_pages
	block_size data_checksums fsync full_page_writes max_connections max_locks_per_transaction max_pred_locks_per_transaction
	max_prepared_transactions server_encoding shared_buffers autovacuum port listen_addresses lc_collate lc_ctype
	integer_datetimes max_identifier_length wal_level`)

// unknownParameter is the error about a parameter that the model does not know.
func unknownParameter(name string) error {
	if slices.Contains(otherParameters, name) {
		return types.Errorf("0A000", "parameter %s is not supported by the model", name)
	}
	return types.Errorf("42704", "unrecognized configuration parameter %q", name)
}
