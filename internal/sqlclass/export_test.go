package sqlclass

// OccupySlots takes every slot for a parse, as stuck parses would, and returns
// what frees them.
func OccupySlots(c *Classifier) (free func()) {
	for range cap(c.slots) {
		c.slots <- struct{}{}
	}
	return func() {
		for range cap(c.slots) {
			<-c.slots
		}
	}
}

// ParserStack is the smallest stack that New accepts, in bytes.
const ParserStack = parserStack
