package tla

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// StoreGraph runs TLC on a configuration that holds and writes its state graph to dir/NAME.zst, beside the hash of the texts.
func (t *TLC) StoreGraph(ctx context.Context, c Config, workers int, dir string) (*Outcome, error) {
	tmp, err := os.MkdirTemp("", "simrun-graph-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	dot := filepath.Join(tmp, "graph.dot")
	o, err := t.Run(ctx, c, workers, dot)
	if err != nil {
		return nil, err
	}
	if o.Violated != "" {
		return o, fmt.Errorf("%s violates %s: after a violation the graph is partial and not stored", c.Name, o.Violated)
	}
	in, err := os.Open(dot)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	g, err := ParseDot(in)
	if err != nil {
		return nil, err
	}
	hash, err := c.Hash()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, c.Name+".zst"))
	if err != nil {
		return nil, err
	}
	if err := g.Write(out, hash); err != nil {
		out.Close()
		return nil, err
	}
	return o, out.Close()
}
