package store

// An Observer is told how a log fares. Its methods are called by the writer and
// must not block.
type Observer interface {
	// Batch tells how many records were just written together.
	Batch(records int)
	// FileGivenUp tells that the disk did not confirm a write.
	FileGivenUp()
}

// nobody observes.
type nobody struct{}

func (nobody) Batch(int)    {}
func (nobody) FileGivenUp() {}

// CorruptChains is how many chains take no more records until a person has
// looked at them. A chain is looked at when it is first used.
func (l *Log) CorruptChains() int {
	l.chainsMu.RLock()
	defer l.chainsMu.RUnlock()
	n := 0
	for _, c := range l.chains {
		if c.refused.Load() != nil {
			n++
		}
	}
	return n
}
