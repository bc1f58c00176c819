package sqltext_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/sqltext"
)

// What a text is read for at all: no function may escape it.
func TestEveryFunctionWithASecretArgumentMakesATextWorthReading(t *testing.T) {
	t.Parallel()
	for name := range sqltext.Functions {
		if name != "encrypt_iv" && name != "sign" && !find.Told(&names.Dictionary{}, name+"(") {
			t.Errorf("%s( is not seen", name)
		}
	}
}
