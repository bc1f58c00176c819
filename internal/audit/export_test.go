package audit

// IsCanonical reports whether a verifier takes entry for a canonical object.
func IsCanonical(entry []byte) bool {
	n := len(entry) - 1
	return n > 0 && entry[n] == '}' && scanEntry(entry[:n], new(members))
}

// IsTime reports whether a verifier takes text for a time.
func IsTime(text string) bool { return isTime([]byte(text)) }

// FoundMembers tells what the strict and the fast way find in an entry.
func FoundMembers(entry []byte) (strict, fast map[string]string) {
	var s, f members
	scanEntry(entry[:len(entry)-1], &s)
	findMembers(entry[:len(entry)-1], &f)
	return s.texts(), f.texts()
}

func (m *members) texts() map[string]string {
	return map[string]string{
		"v": string(m.v), "kind": string(m.kind), "log": string(m.log), "prev": string(m.prev),
		"seq": string(m.seq), "tenant": string(m.tenant), "ts": string(m.ts),
	}
}
