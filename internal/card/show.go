package card

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// maxArgsLines and maxLine bound the arguments that a card shows.
const (
	maxArgsLines = 200
	maxLine      = 4000 // characters
)

// Text writes the card for a terminal.
func (c *Card) Text(w io.Writer, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", approval.Safe(c.Prompt, approval.MaxDetail))
	for _, f := range c.facts(now) {
		fmt.Fprintf(&b, "  %-10s %s\n", f.name, f.value)
	}
	for _, d := range c.Details {
		fmt.Fprintf(&b, "  - %s\n", approval.Safe(d, approval.MaxDetail))
	}
	b.WriteString("\nArguments (redacted):\n")
	for _, line := range c.arguments() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the card for a chat or an issue.
func (c *Card) Markdown(w io.Writer, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**A call waits for a person:** %s\n\n", code(approval.Safe(c.Prompt, approval.MaxDetail)))
	for _, f := range c.facts(now) {
		fmt.Fprintf(&b, "- **%s:** %s\n", f.name, code(f.value))
	}
	for _, d := range c.Details {
		fmt.Fprintf(&b, "- %s\n", code(approval.Safe(d, approval.MaxDetail)))
	}
	lines := strings.Join(c.arguments(), "\n")
	fence := strings.Repeat("`", max(3, longestRun(lines, '`')+1))
	fmt.Fprintf(&b, "\nArguments (redacted):\n\n%sjson\n%s\n%s\n", fence, lines, fence)
	_, err := io.WriteString(w, b.String())
	return err
}

// arguments are the lines of the indented arguments, safe to show.
func (c *Card) arguments() []string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c.Args); err != nil {
		return []string{"(they cannot be shown)"}
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	all := len(lines)
	lines = lines[:min(all, maxArgsLines)]
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines[i] = indent + approval.Safe(line[len(indent):], maxLine)
	}
	if all > maxArgsLines {
		lines = append(lines, fmt.Sprintf("… [%d lines in all]", all))
	}
	return lines
}

// code makes a text a code span, in which Markdown does nothing: its fence is
// longer than any run of backticks in it.
func code(text string) string {
	if text == "" {
		return "` `"
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
