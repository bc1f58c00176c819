package policy

import "strings"

// meant returns ", did you mean X?" for the candidate that a misspelt name is
// closest to, or nothing when none is close.
func meant(name string, candidates []string) string {
	best, distance := "", len(name)/3+2
	for _, candidate := range candidates {
		if d := closeness(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// closeness is the number of edits between two names without regard to case;
// one that starts with the other is as close as two edits at most.
func closeness(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	const shortest = 4 // fewer letters start too many names
	if min(len(a), len(b)) >= shortest && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return min(2, max(len(a), len(b))-min(len(a), len(b)))
	}
	return edits(a, b)
}

// edits is the Levenshtein distance of two strings, byte by byte.
func edits(a, b string) int {
	if len(a) > maxPath || len(b) > maxPath {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
