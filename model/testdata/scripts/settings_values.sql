# values of run-time parameters: units, ranges, enums, as SHOW prints them and as errors name them
a: SET work_mem = '1.5MB'
a: SHOW work_mem
a: SET work_mem = '3 MB'
a: SHOW work_mem
a: SET work_mem = 'x'
a: SET work_mem = 1
a: SET work_mem = '1 x'
a: SET seq_page_cost = 0.1
a: SHOW seq_page_cost
a: SET seq_page_cost = -1
a: SET seq_page_cost = 'x'
a: SET cpu_tuple_cost = 0.03
a: SHOW cpu_tuple_cost
a: SET geqo_effort = 11
a: SET geqo_effort = '3kB'
a: SET geqo_effort = 3.5
a: SHOW geqo_effort
a: SET constraint_exclusion = tru
a: SET constraint_exclusion = true
a: SHOW constraint_exclusion
a: SET plan_cache_mode = foo
a: SET plan_cache_mode = force_custom_plan
a: SET jit = 'of'
a: SHOW jit
a: SET jit = 'o'
a: SET effective_cache_size = '1GB'
a: SHOW effective_cache_size
a: SET effective_cache_size = 7
a: SHOW effective_cache_size
a: SET synchronous_commit = 'foo'
a: SET synchronous_commit = local
a: SHOW synchronous_commit
a: SET nosuch_parameter = 1
a: SHOW nosuch_parameter
a: SET is_superuser = off
a: SET default_transaction_isolation = 'foo'
a: SET enable_seqscan = maybe
