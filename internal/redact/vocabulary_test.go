package redact

import "testing"

// The trigger decides what is read at all: no word of the lists may escape it.
func TestEveryNameOfASecretPullsTheTrigger(t *testing.T) {
	t.Parallel()
	for name := range single {
		if !nameSigns.in(name) || !signs.in(name) {
			t.Errorf("%s is not seen", name)
		}
	}
	for last, before := range phrases {
		for first := range before {
			if name := first + "_" + last; !nameSigns.in(name) {
				t.Errorf("%s is not seen", name)
			}
		}
	}
	for _, name := range endings {
		if !nameSigns.in(name) {
			t.Errorf("%s is not seen", name)
		}
	}
	for name := range functions {
		if name == "encrypt_iv" || name == "sign" || signs.in(name+"(") {
			continue
		}
		t.Errorf("%s( is not seen", name)
	}
}
