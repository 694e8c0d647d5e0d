package sql

import (
	"testing"

	"simrun/model/types"
)

// TestFastCallsAgree holds the fast comparisons and sums to the built-in operators that they stand for.
func TestFastCallsAgree(t *testing.T) {
	ints := []types.Value{types.Null(types.Of(types.Int8))}
	for _, n := range []int64{-1 << 63, -1 << 31, -1, 0, 1, 7, 1 << 31, 1<<63 - 1} {
		ints = append(ints, types.NewInt8(n))
	}
	var small []types.Value // of the smaller types, which go together
	for _, n := range []int64{-1 << 31, -1 << 15, -1, 0, 1, 1<<15 - 1, 1<<31 - 1} {
		small = append(small, types.NewInt(types.Int4, n))
		if n == int64(int16(n)) {
			small = append(small, types.NewInt(types.Int2, n))
		}
	}
	texts := []types.Value{types.Null(types.Of(types.Text)), types.NewText(""), types.NewText("a"), types.NewText("b"), types.NewText("ab")}
	fast := 0
	check := func(op string, vals []types.Value) {
		for _, x := range vals {
			for _, y := range vals {
				a := &analyzer{}
				e, err := a.operator(op, &constExpr{at: -1, v: x}, &constExpr{at: -1, v: y}, -1)
				if err != nil {
					t.Fatal(err)
				}
				call := e.(*callExpr)
				fn := fastCall(call, &a.shape)
				if fn == nil {
					continue
				}
				fast++
				got, gerr := fn(&frame{})
				want, werr := types.Null(call.fn.ret), error(nil)
				if x.Valid && y.Valid {
					want, werr = call.fn.eval(&frame{run: &run{}}, []types.Value{x, y})
				}
				if (gerr == nil) != (werr == nil) || gerr == nil && (got.Valid != want.Valid || got.N != want.N || got.T.Kind != want.T.Kind) ||
					gerr != nil && gerr.Error() != werr.Error() {
					t.Errorf("%v %s %v: fast %v %v, built in %v %v", x, op, y, got, gerr, want, werr)
				}
			}
		}
	}
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "+", "-"} {
		check(op, ints)
		check(op, small)
	}
	check("=", texts)
	check("<>", texts)
	if fast < 1500 {
		t.Errorf("only %d calls were fast", fast)
	}
}
