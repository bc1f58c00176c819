package names

import "testing"

// The trigger decides what is read at all: no word of the lists may escape it.
func TestEveryNameOfASecretPullsTheTrigger(t *testing.T) {
	t.Parallel()
	for name := range single {
		if !Tell(name) {
			t.Errorf("%s is not seen", name)
		}
	}
	for last, before := range phrases {
		for first := range before {
			if name := first + "_" + last; !Tell(name) {
				t.Errorf("%s is not seen", name)
			}
		}
	}
	for _, name := range endings {
		if !Tell(name) {
			t.Errorf("%s is not seen", name)
		}
	}
}
