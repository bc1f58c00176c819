package toolname

import (
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestConfusablesAreSortedAndNeeded(t *testing.T) {
	sorted := slices.IsSortedFunc(confusables[:], func(a, b confusable) int { return int(a.from - b.from) })
	if !sorted {
		t.Error("the table is not sorted")
	}
	for i, c := range confusables {
		if i > 0 && confusables[i-1].from == c.from {
			t.Errorf("%U stands twice", c.from)
		}
		if !isAlphanumeric(c.to) || c.from < 0x80 {
			t.Errorf("%U to %q is no mapping to ASCII", c.from, c.to)
		}
		if s := string(c.from); norm.NFKD.String(s) != s {
			t.Errorf("%U never reaches the table: it decomposes", c.from)
		}
	}
}

func TestSkeletonIsAFixpoint(t *testing.T) {
	for _, name := range []string{"db_query_sql", "DB-Query.sq1", "\u0416\u0430", "m__w", "\u0130"} {
		once := string(newSkeleton(name).text)
		if again := string(newSkeleton(once).text); again != once {
			t.Errorf("%q becomes %q, then %q", name, once, again)
		}
	}
}
