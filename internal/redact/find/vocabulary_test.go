package find_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// What a text is read for at all: no name may escape it.
func TestEveryPatternOfNamesMakesATextWorthReading(t *testing.T) {
	t.Parallel()
	for _, pattern := range names.Patterns() {
		if !find.Told(&names.Dictionary{}, "x "+pattern+" x") {
			t.Errorf("%s is not seen", pattern)
		}
	}
}
