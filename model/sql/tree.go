package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// visitRangeVars calls f for every table reference below n.
func visitRangeVars(n *pg.Node, f func(*pg.RangeVar)) {
	visitMessages(n.ProtoReflect(), func(m protoreflect.Message) {
		if r, ok := m.Interface().(*pg.RangeVar); ok {
			f(r)
		}
	})
}

func visitMessages(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() != protoreflect.MessageKind {
			return true
		}
		if fd.IsList() {
			for i := range v.List().Len() {
				visitMessages(v.List().Get(i).Message(), f)
			}
		} else {
			visitMessages(v.Message(), f)
		}
		return true
	})
}

// treeText is a text that is equal for expressions that are written alike, wherever they stand.
func treeText(n *pg.Node) string {
	if n == nil {
		return ""
	}
	c := proto.Clone(n).(*pg.Node)
	visitMessages(c.ProtoReflect(), func(m protoreflect.Message) {
		fields := m.Descriptor().Fields()
		if fd := fields.ByName("location"); fd != nil && fd.Kind() == protoreflect.Int32Kind {
			m.Clear(fd)
		}
	})
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		return ""
	}
	return string(b)
}
