package sqlclass

import (
	_ "embed"
	"fmt"
	"strings"
)

// functionsText is the catalogue of functions; hack/sqlfunctions writes it.
//
//go:embed functions.txt
var functionsText string

// effect says what a function does. The zero value is unknown.
type effect uint8

const (
	unknown effect = iota
	pure           // computes from its arguments, or draws a number
	reads          // reads data, statistics or the state of the session
	writes         // adds
	admin          // acts on the server, on other sessions or on what is stored
	file           // reads or writes files of the server
	network        // reaches other machines, or runs programs
	sqltext        // runs a text as SQL
	server         // stalls a session, or the cluster around the server
)

// effects are the sections of the catalogue.
func effects() map[string]effect {
	return map[string]effect{
		"pure": pure, "reads": reads, "writes": writes, "admin": admin,
		"file": file, "network": network, "sqltext": sqltext, "server": server,
	}
}

// word is the effect's name in the catalogue.
func (e effect) word() string {
	words := [...]string{"unknown", "pure", "reads", "writes", "admin", "file", "network", "sqltext", "server"}
	return words[e]
}

func (e effect) class() Class {
	switch e {
	case pure, reads:
		return Read
	case writes:
		return Write
	case admin:
		return Admin
	default:
		return Forbidden
	}
}

// String says for people what such a function does.
func (e effect) String() string {
	switch e {
	case writes:
		return "adds to what is stored"
	case admin:
		return "acts on the server, on other sessions or on stored data"
	case file:
		return "reads or writes files of the server"
	case network:
		return "reaches other machines or runs programs"
	case sqltext:
		return "runs a text as SQL"
	case server:
		return "stalls the server or changes its replication"
	case pure, reads:
		return "reads"
	default:
		return "is in no catalogue"
	}
}

// catalog is the catalogue of functions, by name and by pattern.
type catalog struct {
	exact     map[string]effect // names, or schema.name
	patterns  []pattern
	qualified []pattern // of schema.name
	settings  settings
	relations map[string]bool // of pg_catalog
}

type pattern struct {
	prefix, suffix string
	effect         effect
}

func (p pattern) matches(name string) bool {
	return len(name) >= len(p.prefix)+len(p.suffix) && strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix)
}

func newCatalog(text string) (*catalog, error) {
	c := &catalog{exact: make(map[string]effect, 3000), settings: newSettings(), relations: newSystemRelations()}
	known := effects()
	current := unknown
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#':
		case line[0] == '[':
			e, ok := known[strings.Trim(line, "[]")]
			if !ok {
				return nil, fmt.Errorf("section %s is not known", line)
			}
			current = e
		default:
			for name := range strings.FieldsSeq(line) {
				c.add(name, current)
			}
		}
	}
	return c, nil
}

func (c *catalog) add(name string, e effect) {
	prefix, suffix, isPattern := strings.Cut(name, "*")
	switch p := (pattern{prefix, suffix, e}); {
	case !isPattern:
		c.exact[name] = e
	case strings.Contains(name, "."):
		c.qualified = append(c.qualified, p)
	default:
		c.patterns = append(c.patterns, p)
	}
}

// lookup returns the effect of a function. A schema that is not empty and not
// pg_catalog makes a harmless name unknown, since anybody can make a function
// of that name; a harmful one stays what it is in every schema, because that
// is where extensions are.
func (c *catalog) lookup(schema, name string) effect {
	builtin := schema == "" || schema == "pg_catalog"
	if e, ok := c.exact[name]; ok && builtin && e.class() < Admin {
		return e // names of built-in functions have no capitals
	}
	lower := strings.ToLower(name)
	if !builtin {
		full := strings.ToLower(schema) + "." + lower
		if e, ok := c.exact[full]; ok {
			return e
		}
		if e := worstMatch(c.qualified, full); e != unknown {
			return e
		}
	}
	if e, ok := c.exact[lower]; ok {
		if e.class() >= Admin {
			return e
		}
		return unknown
	}
	return worstMatch(c.patterns, lower)
}

// worstMatch returns the worst effect of the patterns that match.
func worstMatch(patterns []pattern, name string) effect {
	worst := unknown
	for _, p := range patterns {
		if p.matches(name) {
			worst = max(worst, p.effect)
		}
	}
	return worst
}

// isForbidden reports whether the function never runs.
func (c *catalog) isForbidden(schema, name string) bool {
	e := c.lookup(schema, name)
	return e != unknown && e.class() == Forbidden
}
