package rings

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schema is the text of the database, by concern. A mutant may change a part.
type schema struct {
	authority, cursor, ringCursor, fence string
}

func schemaFile(name string) string {
	text, err := schemaFiles.ReadFile("schema/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}

func newSchema() schema {
	return schema{
		authority:  schemaFile("authority"),
		cursor:     schemaFile("cursor"),
		ringCursor: schemaFile("ring_cursor"),
		fence:      schemaFile("fence"),
	}
}

// layout says how large a scenario's rings are and which families they have.
type layout struct {
	slots int // of each ring
	queue ring
	lease ring
	claim ring
}

func (l layout) rings() []ring { return []ring{l.queue, l.lease, l.claim} }

// only is the ring with just these of its families.
func (r ring) only(families ...string) ring {
	r.families = families
	return r
}

// text is the schema as SQL for a layout.
func (s schema) text(l layout) string {
	var b strings.Builder
	b.WriteString(s.authority)
	b.WriteString(schemaFile("runtime"))
	b.WriteString(schemaFile("version"))
	for _, r := range l.rings() {
		b.WriteString(strings.ReplaceAll(s.cursor, "{ring}", r.name))
	}
	b.WriteString(s.ringCursor)
	b.WriteString(s.fence)
	b.WriteString(l.families())
	return b.String()
}

// oldText is the schema as 0.6 made it; withRings is false where only the families and the runtimes are there yet.
func (s schema) oldText(l layout, withRings bool) string {
	var b strings.Builder
	b.WriteString(schemaFile("runtime_06"))
	b.WriteString(schemaFile("version"))
	for _, r := range l.rings() {
		if withRings {
			b.WriteString(strings.ReplaceAll(schemaFile("cursor_06"), "{ring}", r.name))
		}
	}
	b.WriteString(l.families())
	return b.String()
}

// families is the partitioned tables of all rings with their children.
func (l layout) families() string {
	var b strings.Builder
	for _, r := range l.rings() {
		parents := splitTables(schemaFile(r.name))
		for _, family := range r.families {
			b.WriteString(parents[family])
			for slot := range l.slots {
				fmt.Fprintf(&b, "CREATE TABLE %s PARTITION OF %s FOR VALUES IN (%d);\n", child(family, slot), family, slot)
			}
		}
	}
	return b.String()
}

// splitTables cuts a schema file into its CREATE TABLE statements, by table name.
func splitTables(text string) map[string]string {
	tables := map[string]string{}
	for _, part := range strings.SplitAfter(text, ";\n") {
		if i := strings.Index(part, "CREATE TABLE "); i >= 0 {
			rest := part[i+len("CREATE TABLE "):]
			tables[rest[:strings.IndexByte(rest, ' ')]] = part[i:]
		}
	}
	return tables
}
