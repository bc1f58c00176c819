package stmtclass_test

import (
	"slices"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
)

func TestClassOfAStatement(t *testing.T) {
	for name, tc := range map[string]struct {
		node, class, decision string
	}{
		"a select reads":                       {"SelectStmt", stmtclass.Read, stmtclass.Allow},
		"an insert writes":                     {"InsertStmt", stmtclass.Write, stmtclass.Allow},
		"an update asks":                       {"UpdateStmt", stmtclass.Destructive, stmtclass.Ask},
		"a grant is for administrators":        {"GrantStmt", stmtclass.Admin, stmtclass.Ask},
		"dropping a database is refused":       {"DropdbStmt", stmtclass.Forbidden, stmtclass.Deny},
		"preparing is what is prepared":        {"PrepareStmt", stmtclass.Read, stmtclass.Inner},
		"a copy depends on its form":           {"CopyStmt", "", stmtclass.ByForm},
		"a wrapper has no class of its own":    {"RawStmt", "", stmtclass.Inner},
		"a node no text can produce is denied": {"PLAssignStmt", stmtclass.Forbidden, stmtclass.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			class, decision, ok := stmtclass.Class(tc.node)
			if !ok || class != tc.class || decision != tc.decision {
				t.Errorf("Class(%q) = %q, %q, %v; want %q, %q", tc.node, class, decision, ok, tc.class, tc.decision)
			}
		})
	}
}

func TestANameThatIsNoStatementHasNoClass(t *testing.T) {
	for _, node := range []string{"", "selectstmt", "Select", "NoSuchStmt"} {
		if class, decision, ok := stmtclass.Class(node); ok || class != "" || decision != "" {
			t.Errorf("Class(%q) = %q, %q, %v; want nothing", node, class, decision, ok)
		}
	}
}

func TestEveryNodeHasADecisionThatItsClassBears(t *testing.T) {
	nodes := stmtclass.Nodes()
	if len(nodes) != 117 || !slices.IsSorted(nodes) {
		t.Errorf("got %d nodes, want the 117 of the grammar, sorted", len(nodes))
	}
	for _, node := range nodes {
		class, decision, _ := stmtclass.Class(node)
		if decision == stmtclass.Inner || decision == stmtclass.ByForm {
			continue
		}
		want, ok := stmtclass.ClassDecision(class)
		if !ok || decision != want {
			t.Errorf("%s: class %q, decision %q; the class decides %q", node, class, decision, want)
		}
	}
}

func TestDecisionsAreSpelledAsVerdicts(t *testing.T) {
	got := []plan.Verdict{stmtclass.Allow, stmtclass.Ask, stmtclass.Deny}
	if want := []plan.Verdict{plan.VerdictAllow, plan.VerdictAsk, plan.VerdictDeny}; !slices.Equal(got, want) {
		t.Errorf("decisions %q, want %q", got, want)
	}
	for _, class := range stmtclass.Classes() {
		if _, ok := stmtclass.ClassDecision(class); !ok {
			t.Errorf("class %q has no decision", class)
		}
	}
	if _, ok := stmtclass.ClassDecision("Read"); ok {
		t.Error("a class in another case is no class")
	}
}
