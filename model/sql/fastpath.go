package sql

import "simrun/model/types"

// fastCall compiles the comparisons and sums of integers that most statements are made of without the detour over argument
// slices. The results are those of the built-in operators, which stay the reference (see TestFastCallsAgree).
func fastCall(e *callExpr, sh *shape) evalFn {
	if len(e.args) != 2 {
		return nil
	}
	lk, rk := e.args[0].typ().Kind, e.args[1].typ().Kind
	name := e.fn.name
	switch {
	case wholeNumber(lk) && wholeNumber(rk):
		if (name == "+" || name == "-") && isInt(lk) && isInt(rk) && isInt(e.fn.ret.Kind) {
			return fastSum(e, sh, name == "-")
		}
		if e.fn.ret == boolType {
			return fastCompare(e, sh)
		}
	case (lk == types.Text || lk == types.Varchar || lk == types.UUID || lk == types.Bytea) && rk == lk && e.fn.ret == boolType:
		if name == "=" || name == "<>" {
			return fastEqual(e, sh, name == "=")
		}
	}
	return nil
}

// sides compiles both operands; the function says whether both are there.
func sides(e *callExpr, sh *shape) func(f *frame) (a, b types.Value, ok bool, err error) {
	l, r := e.args[0].compile(sh), e.args[1].compile(sh)
	return func(f *frame) (a, b types.Value, ok bool, err error) {
		if a, err = l(f); err != nil {
			return
		}
		b, err = r(f)
		return a, b, a.Valid && b.Valid, err
	}
}

func fastEqual(e *callExpr, sh *shape, equal bool) evalFn {
	both, null := sides(e, sh), types.Null(boolType)
	return func(f *frame) (types.Value, error) {
		a, b, ok, err := both(f)
		if !ok || err != nil {
			return null, err
		}
		return types.NewBool((a.S == b.S) == equal), nil
	}
}

// fastCompare compares whole numbers: the operator is true for some of less, equal, greater.
func fastCompare(e *callExpr, sh *shape) evalFn {
	var lt, eq, gt bool
	switch e.fn.name {
	case "=":
		eq = true
	case "<>":
		lt, gt = true, true
	case "<":
		lt = true
	case "<=":
		lt, eq = true, true
	case ">":
		gt = true
	case ">=":
		gt, eq = true, true
	default:
		return nil
	}
	both, null := sides(e, sh), types.Null(boolType)
	return func(f *frame) (types.Value, error) {
		a, b, ok, err := both(f)
		if !ok || err != nil {
			return null, err
		}
		switch {
		case a.N < b.N:
			return types.NewBool(lt), nil
		case a.N > b.N:
			return types.NewBool(gt), nil
		}
		return types.NewBool(eq), nil
	}
}

// fastSum adds or subtracts integers, whose type the operator's result has.
func fastSum(e *callExpr, sh *shape, minus bool) evalFn {
	both, ret := sides(e, sh), e.fn.ret
	null := types.Null(ret)
	return func(f *frame) (types.Value, error) {
		a, b, ok, err := both(f)
		if !ok || err != nil {
			return null, err
		}
		s, up := a.N+b.N, b.N > 0
		if minus {
			s, up = a.N-b.N, b.N < 0
		}
		if b.N != 0 && (s > a.N) != up {
			return null, types.OutOfRange(ret)
		}
		return types.FitInt(ret.Kind, s)
	}
}

// wholeNumber says whether values of the kind are compared by N.
func wholeNumber(k types.Kind) bool {
	switch k {
	case types.Int2, types.Int4, types.Int8, types.Timestamptz, types.Bool, types.OID:
		return true
	}
	return false
}
