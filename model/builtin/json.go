package builtin

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"simrun/model/types"
)

type jval = types.JSONValue

// asJSON is a node as a value of kind k, JSON or JSONB. JSON keeps the text as it was written.
func asJSON(k types.Kind, j *jval) V {
	if k == types.JSON {
		return types.NewString(k, string(j.AppendSource(nil)))
	}
	return types.NewString(k, string(j.Append(nil)))
}

// asText is a node of kind k as ->> gives it: NULL for null, strings without quotes.
func asText(k types.Kind, j *jval) V {
	switch j.Kind {
	case types.JSONNull:
		return types.Null(textType())
	case types.JSONString:
		return text(j.Str)
	}
	return text(asJSON(k, j).S)
}

// toJSON is an SQL value as JSON (to_jsonb).
func toJSON(v V) *jval {
	if !v.Valid {
		return &jval{Kind: types.JSONNull}
	}
	switch v.T.Kind {
	case types.Bool:
		return &jval{Kind: types.JSONBool, Str: strconv.FormatBool(v.N != 0)}
	case types.Int2, types.Int4, types.Int8:
		return &jval{Kind: types.JSONNumber, Str: v.Text()}
	case types.Numeric, types.Float8, types.Float4:
		s := v.Text()
		if strings.HasSuffix(s, "y") || s == "NaN" {
			return &jval{Kind: types.JSONString, Str: s}
		}
		d, _ := types.ParseDecimal(s)
		return &jval{Kind: types.JSONNumber, Str: d.String()}
	case types.JSON, types.JSONB:
		return v.JSON()
	case types.Array:
		j := &jval{Kind: types.JSONArray}
		for _, e := range v.Elems() {
			j.Elems = append(j.Elems, *toJSON(e))
		}
		return j
	case types.Record:
		var keys []string
		var vals []jval
		for i, e := range v.Elems() {
			keys = append(keys, "f"+strconv.Itoa(i+1))
			vals = append(vals, *toJSON(e))
		}
		return types.NewJSONObject(keys, vals)
	case types.Timestamptz, types.Timestamp:
		s := strings.Replace(v.Text(), " ", "T", 1)
		if v.T.Kind == types.Timestamptz && strings.HasSuffix(s, "+00") {
			s += ":00"
		}
		return &jval{Kind: types.JSONString, Str: s}
	}
	return &jval{Kind: types.JSONString, Str: v.Text()}
}

func init() {
	for _, t := range []string{"json", "jsonb"} {
		k := kindOf(t)
		null := types.Null(types.Of(k))
		show := func(j *jval) V { return asText(k, j) }
		field := func(a []V) (*jval, bool) { return a[0].JSON().Get(a[1].S) }
		at := func(a []V) (*jval, bool) { return a[0].JSON().At(int(a[1].N)) }
		path := func(a []V) (*jval, bool) { return follow(a[0].JSON(), a[1].Elems()) }
		for _, o := range []struct {
			arrow, right string
			get          func([]V) (*jval, bool)
		}{{"->", "text", field}, {"->", "int4", at}, {"#>", "_text", path}} {
			op(o.arrow+"("+t+","+o.right+") "+t, pure(func(a []V) V {
				if j, ok := o.get(a); ok {
					return asJSON(k, j)
				}
				return null
			}))
			op(o.arrow+">("+t+","+o.right+") text", pure(func(a []V) V {
				if j, ok := o.get(a); ok {
					return asText(k, j)
				}
				return types.Null(textType())
			}))
		}
		def(t+"_extract_path("+t+", variadic _text) "+t, pure(func(a []V) V {
			if j, ok := follow(a[0].JSON(), a[1:]); ok {
				return asJSON(k, j)
			}
			return null
		}))
		def(t+"_extract_path_text("+t+", variadic _text) text", pure(func(a []V) V {
			if j, ok := follow(a[0].JSON(), a[1:]); ok {
				return asText(k, j)
			}
			return types.Null(textType())
		}))
		def(t+"_typeof("+t+") text", pure(func(a []V) V { return text(typeOf(a[0].JSON())) }))
		def(t+"_array_length("+t+") int4", func(_ Env, a []V) (V, error) {
			switch j := a[0].JSON(); j.Kind {
			case types.JSONArray:
				return int4(len(j.Elems)), nil
			case types.JSONObject:
				return V{}, types.NewError("22023", "cannot get array length of a non-array")
			}
			return V{}, types.NewError("22023", "cannot get array length of a scalar")
		})
		defRows(t+"_array_elements("+t+") "+t, func(_ Env, a []V) ([]V, error) {
			return elements(a[0].JSON(), func(j *jval) V { return asJSON(k, j) })
		}, cols("value "+t))
		defRows(t+"_array_elements_text("+t+") text", func(_ Env, a []V) ([]V, error) { return elements(a[0].JSON(), show) },
			cols("value text"))
		defRows(t+"_object_keys("+t+") text", func(_ Env, a []V) ([]V, error) {
			j := a[0].JSON()
			switch j.Kind {
			case types.JSONArray:
				return nil, types.Errorf("22023", "cannot call %s_object_keys on an array", t)
			case types.JSONObject:
			default:
				return nil, types.Errorf("22023", "cannot call %s_object_keys on a scalar", t)
			}
			var rows []V
			for _, key := range j.Keys {
				rows = append(rows, text(key))
			}
			return rows, nil
		})
		defRows(t+"_each("+t+") record", func(_ Env, a []V) ([]V, error) {
			return pairs(t+"_each", a[0].JSON(), func(j *jval) V { return asJSON(k, j) })
		}, cols("key text, value "+t))
		defRows(t+"_each_text("+t+") record", func(_ Env, a []V) ([]V, error) { return pairs(t+"_each_text", a[0].JSON(), show) },
			cols("key text, value text"))
		name := "to_" + t
		def(name+"(anyelement) "+t, pure(func(a []V) V { return asJSON(k, toJSON(a[0])) }), stable)
		build := func(a []V) (V, error) {
			j, err := buildObject(a)
			if err != nil {
				return V{}, err
			}
			if k == types.JSON { // keeps order, duplicates, and its own spacing
				return types.NewString(k, jsonObjectText(a)), nil
			}
			return asJSON(k, j), nil
		}
		array := pure(func(a []V) V {
			j := &jval{Kind: types.JSONArray}
			for _, v := range a {
				j.Elems = append(j.Elems, *toJSON(v))
			}
			return asJSON(k, j)
		})
		for _, args := range []string{"", "variadic any"} {
			def(t+"_build_object("+args+") "+t, func(_ Env, a []V) (V, error) { return build(a) }, stable, nonstrict)
			def(t+"_build_array("+args+") "+t, array, stable, nonstrict)
		}
	}
	op("@>(jsonb,jsonb) bool", pure(func(a []V) V { return types.NewBool(jsonContains(a[0].JSON(), a[1].JSON(), true)) }))
	op("<@(jsonb,jsonb) bool", pure(func(a []V) V { return types.NewBool(jsonContains(a[1].JSON(), a[0].JSON(), true)) }))
	op("?(jsonb,text) bool", pure(func(a []V) V { return types.NewBool(hasKey(a[0].JSON(), a[1].S)) }))
	op("?|(jsonb,_text) bool", pure(func(a []V) V { return types.NewBool(countKeys(a) > 0) }))
	op("?&(jsonb,_text) bool", pure(func(a []V) V {
		want := 0
		for _, e := range a[1].Elems() {
			if e.Valid {
				want++
			}
		}
		return types.NewBool(countKeys(a) == want)
	}))
	op("||(jsonb,jsonb) jsonb", func(_ Env, a []V) (V, error) { return jsonConcat(a[0].JSON(), a[1].JSON()) })
	op("-(jsonb,text) jsonb", func(_ Env, a []V) (V, error) { return deleteKeys(a[0].JSON(), a[1:]) })
	op("-(jsonb,_text) jsonb", func(_ Env, a []V) (V, error) { return deleteKeys(a[0].JSON(), a[1].Elems()) })
	op("-(jsonb,int4) jsonb", func(_ Env, a []V) (V, error) { return deleteAt(a[0].JSON(), a[1].N) })
	op("#-(jsonb,_text) jsonb", func(_ Env, a []V) (V, error) {
		j, err := setPath(a[0].JSON(), a[1].Elems(), nil, setDelete)
		return j, err
	})
	def("jsonb_set(jsonb,_text,jsonb) jsonb", func(_ Env, a []V) (V, error) {
		return setPath(a[0].JSON(), a[1].Elems(), a[2].JSON(), setCreate|setReplace)
	})
	def("jsonb_set(jsonb,_text,jsonb,bool) jsonb", func(_ Env, a []V) (V, error) {
		mode := setReplace
		if a[3].True() {
			mode |= setCreate
		}
		return setPath(a[0].JSON(), a[1].Elems(), a[2].JSON(), mode)
	})
	def("jsonb_strip_nulls(jsonb) jsonb", pure(func(a []V) V { return stripNulls(a[0].JSON()).JSONB() }))
	def("row_to_json(record) json", pure(func(a []V) V { return asJSON(types.JSON, toJSON(a[0])) }), stable)
}

func typeOf(j *jval) string {
	return [...]string{"null", "string", "number", "boolean", "array", "object"}[j.Kind]
}

func follow(j *jval, path []V) (*jval, bool) {
	for _, p := range path {
		if !p.Valid {
			return nil, false
		}
		next, ok := j.Get(p.S)
		if j.Kind == types.JSONArray {
			i, err := strconv.Atoi(strings.TrimSpace(p.S))
			if err != nil {
				return nil, false
			}
			next, ok = j.At(i)
		}
		if !ok {
			return nil, false
		}
		j = next
	}
	return j, true
}

func elements(j *jval, show func(*jval) V) ([]V, error) {
	switch j.Kind {
	case types.JSONObject:
		return nil, types.NewError("22023", "cannot extract elements from an object")
	case types.JSONArray:
	default:
		return nil, types.NewError("22023", "cannot extract elements from a scalar")
	}
	rows := make([]V, len(j.Elems))
	for i := range j.Elems {
		rows[i] = show(&j.Elems[i])
	}
	return rows, nil
}

func pairs(name string, j *jval, show func(*jval) V) ([]V, error) {
	if j.Kind != types.JSONObject {
		return nil, types.Errorf("22023", "cannot call %s on a non-object", name)
	}
	rows := make([]V, len(j.Elems))
	for i := range j.Elems {
		rows[i] = types.NewRecord([]V{text(j.Keys[i]), show(&j.Elems[i])})
	}
	return rows, nil
}

func buildObject(a []V) (*jval, error) {
	if len(a)%2 != 0 {
		return nil, types.NewError("22023", "argument list must have even number of elements").
			WithHint("The arguments of jsonb_build_object() must consist of alternating keys and values.")
	}
	var keys []string
	var vals []jval
	for i := 0; i < len(a); i += 2 {
		if !a[i].Valid {
			return nil, types.Errorf("22023", "argument %d: key must not be null", i+1)
		}
		keys = append(keys, castedText(a[i]))
		vals = append(vals, *toJSON(a[i+1]))
	}
	return types.NewJSONObject(keys, vals), nil
}

// castedText is a key as the JSON functions write it: booleans in full.
func castedText(v V) string {
	if v.T.Kind == types.Bool {
		return strconv.FormatBool(v.N != 0)
	}
	return v.Text()
}

// jsonObjectText is json_build_object's own layout, {"k" : v, ...}, with keys in the order given.
func jsonObjectText(a []V) string {
	b := []byte{'{'}
	for i := 0; i < len(a); i += 2 {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = types.AppendJSONString(b, castedText(a[i]))
		b = append(b, " : "...)
		b = toJSON(a[i+1]).AppendSource(b)
	}
	return string(append(b, '}'))
}

func hasKey(j *jval, key string) bool {
	switch j.Kind {
	case types.JSONObject:
		_, ok := j.Get(key)
		return ok
	case types.JSONArray:
		for _, e := range j.Elems {
			if e.Kind == types.JSONString && e.Str == key {
				return true
			}
		}
	case types.JSONString:
		return j.Str == key
	}
	return false
}

func countKeys(a []V) (n int) {
	j := a[0].JSON()
	for _, e := range a[1].Elems() {
		if e.Valid && hasKey(j, e.S) {
			n++
		}
	}
	return n
}

// jsonContains is documentation 8.14.3; at the top an array also contains a bare scalar.
func jsonContains(whole, part *jval, top bool) bool {
	switch {
	case whole.Kind == types.JSONArray && part.Kind == types.JSONArray:
		for i := range part.Elems {
			found := false
			for k := range whole.Elems {
				w, p := &whole.Elems[k], &part.Elems[i]
				found = found || w.Kind == p.Kind && jsonContains(w, p, false)
			}
			if !found {
				return false
			}
		}
		return true
	case whole.Kind == types.JSONArray && top && part.Kind < types.JSONArray:
		for k := range whole.Elems {
			if types.CompareJSON(&whole.Elems[k], part) == 0 {
				return true
			}
		}
		return false
	case whole.Kind != part.Kind:
		return false
	case whole.Kind == types.JSONObject:
		for i, key := range part.Keys {
			w, ok := whole.Get(key)
			if !ok || !jsonContains(w, &part.Elems[i], false) {
				return false
			}
		}
		return true
	}
	return types.CompareJSON(whole, part) == 0
}

func jsonConcat(a, b *jval) (V, error) {
	if a.Kind == types.JSONObject && b.Kind == types.JSONObject {
		keys := append(append([]string{}, a.Keys...), b.Keys...)
		return types.NewJSONObject(keys, append(append([]jval{}, a.Elems...), b.Elems...)).JSONB(), nil
	}
	list := func(j *jval) []jval {
		if j.Kind == types.JSONArray {
			return j.Elems
		}
		return []jval{*j}
	}
	j := &jval{Kind: types.JSONArray, Elems: append(append([]jval{}, list(a)...), list(b)...)}
	return j.JSONB(), nil
}

func deleteKeys(j *jval, keys []V) (V, error) {
	if j.Kind < types.JSONArray {
		return V{}, types.NewError("22023", "cannot delete from scalar")
	}
	gone := func(s string) bool {
		for _, k := range keys {
			if k.Valid && k.S == s {
				return true
			}
		}
		return false
	}
	out := &jval{Kind: j.Kind}
	for i := range j.Elems {
		switch {
		case j.Kind == types.JSONObject:
			if gone(j.Keys[i]) {
				continue
			}
			out.Keys = append(out.Keys, j.Keys[i])
		case j.Elems[i].Kind == types.JSONString && gone(j.Elems[i].Str):
			continue
		}
		out.Elems = append(out.Elems, j.Elems[i])
	}
	return out.JSONB(), nil
}

func deleteAt(j *jval, n int64) (V, error) {
	switch j.Kind {
	case types.JSONObject:
		return V{}, types.NewError("22023", "cannot delete from object using integer index")
	case types.JSONArray:
	default:
		return V{}, types.NewError("22023", "cannot delete from scalar")
	}
	if n < 0 {
		n += int64(len(j.Elems))
	}
	if n < 0 || n >= int64(len(j.Elems)) {
		return j.JSONB(), nil
	}
	out := &jval{Kind: types.JSONArray}
	out.Elems = append(append(out.Elems, j.Elems[:n]...), j.Elems[n+1:]...)
	return out.JSONB(), nil
}

// Modes of setPath.
const (
	setCreate = 1 << iota
	setReplace
	setDelete
)

// setPath is jsonb_set and #-: it puts val at the path, or takes out what is there.
func setPath(j *jval, path []V, val *jval, mode int) (V, error) {
	if j.Kind < types.JSONArray {
		if mode == setDelete {
			return V{}, types.NewError("22023", "cannot delete path in scalar")
		}
		return V{}, types.NewError("22023", "cannot set path in scalar")
	}
	if len(path) == 0 {
		return j.JSONB(), nil
	}
	out, err := setAt(j, path, 0, val, mode)
	if err != nil {
		return V{}, err
	}
	return out.JSONB(), nil
}

func setAt(j *jval, path []V, depth int, val *jval, mode int) (*jval, error) {
	if !path[depth].Valid {
		return nil, types.Errorf("22004", "path element at position %d is null", depth+1)
	}
	key, last := path[depth].S, depth == len(path)-1
	switch j.Kind {
	case types.JSONObject:
		at := sort.Search(len(j.Keys), func(i int) bool { return len(j.Keys[i]) > len(key) || len(j.Keys[i]) == len(key) && j.Keys[i] >= key })
		found := at < len(j.Keys) && j.Keys[at] == key
		keys, vals := append([]string{}, j.Keys...), append([]jval{}, j.Elems...)
		switch {
		case last && found && mode == setDelete:
			keys, vals = append(keys[:at], keys[at+1:]...), append(vals[:at], vals[at+1:]...)
		case last && found:
			vals[at] = *val
		case last && mode&setCreate != 0:
			keys, vals = append(keys, key), append(vals, *val)
		case !last && found:
			inner, err := setAt(&vals[at], path, depth+1, val, mode)
			if err != nil {
				return nil, err
			}
			vals[at] = *inner
		}
		return types.NewJSONObject(keys, vals), nil
	case types.JSONArray:
		n, err := strconv.ParseInt(strings.TrimSpace(key), 10, 32)
		if err != nil {
			return nil, types.Errorf("22P02", "path element at position %d is not an integer: \"%s\"", depth+1, key)
		}
		size := int64(len(j.Elems))
		if n < 0 {
			if n += size; n < 0 {
				n = math.MinInt32
			}
		}
		vals := append([]jval{}, j.Elems...)
		found := n >= 0 && n < size
		switch {
		case last && found && mode == setDelete:
			vals = append(vals[:n], vals[n+1:]...)
		case last && found:
			vals[n] = *val
		case last && mode&setCreate != 0 && n < 0:
			vals = append([]jval{*val}, vals...)
		case last && mode&setCreate != 0:
			vals = append(vals, *val)
		case !last && found:
			inner, err := setAt(&vals[n], path, depth+1, val, mode)
			if err != nil {
				return nil, err
			}
			vals[n] = *inner
		}
		return &jval{Kind: types.JSONArray, Elems: vals}, nil
	}
	return j, nil
}

func stripNulls(j *jval) *jval {
	out := &jval{Kind: j.Kind, Str: j.Str}
	for i := range j.Elems {
		if j.Kind == types.JSONObject {
			if j.Elems[i].Kind == types.JSONNull {
				continue
			}
			out.Keys = append(out.Keys, j.Keys[i])
		}
		out.Elems = append(out.Elems, *stripNulls(&j.Elems[i]))
	}
	return out
}
