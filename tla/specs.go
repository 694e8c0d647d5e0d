// Package tla holds the TLA+ specifications of the two systems and what ties them to the Go side: it runs TLC on every
// configuration, keeps the state graphs that TLC finds, and checks that runs of the actors are runs of the specifications.
package tla

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
)

//go:embed *.tla *.cfg large/*.cfg
var files embed.FS

// Config is one configuration of a specification and what TLC must say of it.
type Config struct {
	Name string // e.g. "RingCursor_B3_no_busy_check"
	Spec string // e.g. "RingCursor"
	// Breaks is the invariant or property that must be violated, "" for a configuration that must hold.
	Breaks string
	path   string // of the .cfg
}

// LargeConfigs returns configurations with larger bounds, which hold: what the search of TLC and that of simrun are compared
// on. They have no stored graphs.
func LargeConfigs() ([]Config, error) { return configsIn("large/*.cfg") }

// Configs returns all configurations, by name. Each .cfg says in its first line what is expected of it.
func Configs() ([]Config, error) { return configsIn("*.cfg") }

func configsIn(pattern string) ([]Config, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var out []Config
	for _, file := range names {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path.Base(file), ".cfg")
		c := Config{Name: name, Spec: configSpec(name), path: file}
		first, _, _ := strings.Cut(string(text), "\n")
		expect, ok := strings.CutPrefix(first, `\* expect: `)
		breaks, isViolated := strings.CutSuffix(expect, " is violated")
		switch {
		case ok && expect == "holds":
		case ok && isViolated:
			c.Breaks = breaks
		default:
			return nil, fmt.Errorf(`%s: the first line must be "\* expect: holds" or "\* expect: NAME is violated", not %q`, file, first)
		}
		out = append(out, c)
	}
	return out, nil
}

// configSpec is the name of the specification of a configuration.
func configSpec(config string) string {
	spec, _, _ := strings.Cut(config, "_")
	return spec
}

// source returns the text of the specification and of the configuration.
func (c Config) source() (spec, cfg []byte, err error) {
	if spec, err = files.ReadFile(c.Spec + ".tla"); err != nil {
		return nil, nil, fmt.Errorf("configuration %s: %w", c.Name, err)
	}
	cfg, err = c.Text()
	return spec, cfg, err
}

// Text is the text of the .cfg.
func (c Config) Text() ([]byte, error) { return files.ReadFile(c.path) }

// Hash identifies the texts that a stored graph came from.
func (c Config) Hash() (string, error) {
	spec, cfg, err := c.source()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(spec)
	h.Write([]byte{0})
	h.Write(cfg)
	return hex.EncodeToString(h.Sum(nil)), nil
}
