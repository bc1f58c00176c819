package kubetest

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// DependsOn makes Go's cache of test results know that a test depends on the
// files beneath directories. It is for files that not the test reads but a
// program that it runs. The cache takes note of the directories that a test
// reads, with the times and sizes of what is in them.
func DependsOn(tb testing.TB, dirs ...string) {
	tb.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			tb.Fatal(err)
		}
	}
}
