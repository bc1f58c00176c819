// Package cases holds the given cases: calls, each with the decision that is
// expected of the strict policy in policy.yaml.
//
// A case is a line of JSON in a file named after what it is about. Members that
// a test does not ask for are notes for people. Long texts are described
// ({"$gen":…}) and written out when a file is read.
package cases

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed *.jsonl
var files embed.FS

// A Case is one line of a file.
type Case struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	// Call is the call or the request, with its number literals as written.
	Call json.RawMessage `json:"call"`
	// Setup is what must be there before the call, and what the policy says
	// differently.
	Setup          json.RawMessage `json:"setup"`
	Expect         string          `json:"expect"`
	AlsoDefensible []string        `json:"also_defensible"`
	Reason         string          `json:"reason"`
	// Line is the whole case, written out.
	Line json.RawMessage `json:"-"`
}

// Accepts reports whether a decision is one that the case calls right.
func (c *Case) Accepts(decision string) bool {
	return decision == c.Expect || slices.Contains(c.AlsoDefensible, decision)
}

// Names returns the names of the files that match a pattern of path.Match,
// without ".jsonl", sorted.
func Names(pattern string) ([]string, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the cases: %w", err)
	}
	var names []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".jsonl")
		match, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if match {
			names = append(names, name)
		}
	}
	return names, nil
}

// Read returns the cases of a file, named without ".jsonl". replace holds pairs
// of texts for strings.NewReplacer: what stands for a place of the test's own,
// and that place.
func Read(name string, replace ...string) ([]Case, error) {
	doc, err := files.ReadFile(name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("read the cases: %w", err)
	}
	if len(replace) > 0 {
		doc = []byte(strings.NewReplacer(replace...).Replace(string(doc)))
	}
	var all []Case
	for line := range bytes.Lines(doc) {
		if line, err = expandLine(line); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", len(all)+1, name, err)
		}
		c := Case{Line: line}
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", len(all)+1, name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// expandLine writes out the texts that a line describes. A line that describes
// none stays as it is, to the byte.
func expandLine(line []byte) ([]byte, error) {
	if !bytes.Contains(line, []byte(`"$gen"`)) {
		return line, nil
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	v, err := expand(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func expand(v any) (any, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	if gen, ok := obj["$gen"].(map[string]any); ok {
		return generate(gen)
	}
	for k, e := range obj {
		e, err := expand(e)
		if err != nil {
			return nil, err
		}
		obj[k] = e
	}
	return obj, nil
}

// generate writes out a unit repeated, or one nested in itself.
func generate(gen map[string]any) (string, error) {
	parts, nest := gen["nest"].([]any)
	if !nest {
		parts, _ = gen["repeat"].([]any)
	}
	var texts []string
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			texts = append(texts, p)
		case json.Number:
			times, err := p.Int64()
			if err != nil || times < 0 || times > 1<<20 {
				return "", fmt.Errorf("a text repeated %s times", p)
			}
			n = int(times)
		}
	}
	switch {
	case nest && len(texts) == 4:
		return texts[0] + strings.Repeat(texts[1], n) + texts[2] + strings.Repeat(texts[3], n), nil
	case !nest && len(texts) == 3:
		return texts[0] + strings.Repeat(texts[1], n) + texts[2], nil
	default:
		return "", fmt.Errorf("a generated text of %d parts", len(texts))
	}
}
