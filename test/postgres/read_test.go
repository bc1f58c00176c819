package postgres

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
	"github.com/hookpolicy/hookpolicy/test/cases"
)

// TestWhatIsClassedReadChangesNothing runs every given case that is classed
// read, as the superuser of the server. A text that the server refuses changes
// nothing either; how many ran through is part of the result.
func TestWhatIsClassedReadChangesNothing(t *testing.T) {
	classifier, o := newClassifier(t), newObserver(t)
	var ran, refused int
	for _, c := range sqlCases(t) {
		report := classify(t, classifier, c.text)
		if report.Class != sqlclass.Read || report.Unknown {
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			session := connect(t)
			var err error
			changed := o.observe(t, session, func() { err = execute(t.Context(), session, c.text) })
			if err != nil {
				refused++
				t.Logf("the server refuses it: %v", err)
			} else {
				ran++
			}
			if changed = forbidden(changed, c.text); len(changed) > 0 {
				t.Errorf("classed read, but it changes %s", show(changed))
			}
		})
	}
	t.Logf("PostgreSQL %s: %d texts classed read ran, %d were refused by the server", cluster.version, ran, refused)
	if ran < 70 {
		t.Errorf("only %d texts ran", ran)
	}
}

// A sqlCase is a given text.
type sqlCase struct{ id, text string }

func sqlCases(t testing.TB) []sqlCase {
	t.Helper()
	names, err := cases.Names("sql*")
	if err != nil {
		t.Fatal(err)
	}
	var texts []sqlCase
	for _, name := range names {
		all, err := cases.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			var call struct{ Args struct{ SQL any } }
			if err := json.Unmarshal(c.Call, &call); err != nil {
				t.Fatal(err)
			}
			if text, ok := call.Args.SQL.(string); ok {
				texts = append(texts, sqlCase{c.ID, text})
			}
		}
	}
	if len(texts) < 400 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts
}

var placeholder = regexp.MustCompile(`\$\d`)

// execute runs a text as drivers do: one with placeholders as a prepared
// statement whose values are null, any other as it is, all statements of it.
func execute(ctx context.Context, conn *pgx.Conn, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if placeholder.MatchString(text) {
		if d, err := conn.PgConn().Prepare(ctx, "", text, nil); err == nil && len(d.ParamOIDs) > 0 {
			_, err = conn.PgConn().ExecParams(ctx, text, make([][]byte, len(d.ParamOIDs)), nil, nil, nil).Close()
			return err
		}
	}
	results := conn.PgConn().Exec(ctx, text)
	for results.NextResult() {
		results.ResultReader().Read()
	}
	return results.Close()
}

// harmless is what those who read may leave in their own session.
var harmless = regexp.MustCompile(`^(session: (prepared statement|cursor) |state of the transaction$|` +
	`session: own setting (application_name|work_mem|TimeZone|DateStyle|seed|transaction_read_only|transaction_isolation|transaction_deferrable)$)`)

// drawsNumber are functions whose purpose is the number of the transaction: one
// is used up.
var drawsNumber = regexp.MustCompile(`(?i)txid_current\(|pg_current_xact_id\(|\bFOR (NO KEY )?(UPDATE|SHARE)\b|\bFOR KEY SHARE\b`)

// forbidden returns what of the changes a text that reads must not make. Rows
// that it locks, and the number that it is given for that, are no change.
func forbidden(changed []string, text string) []string {
	var bad []string
	for _, name := range changed {
		number := name == "next transaction" && drawsNumber.MatchString(text)
		locks := strings.HasPrefix(name, "session: lock on ") // until the transaction's end
		if !number && !locks && !harmless.MatchString(name) {
			bad = append(bad, name)
		}
	}
	return bad
}
