package sql

import (
	"encoding/json"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// basis makes the facts of the record: names and kinds, no literals.
func (o *outcome) basis(rule string) chain.Basis {
	if len(o.reports) == 1 {
		return chain.Basis{Rule: rule, Facts: o.reports[0].Facts()}
	}
	texts := make([]any, 0, len(o.reports))
	for _, r := range o.reports[:min(len(o.reports), sqlclass.MaxFacts)] {
		texts = append(texts, r.Facts())
	}
	return chain.Basis{Rule: rule, Facts: map[string]any{"class": o.worst().String(), "texts": texts, "count": number(len(o.reports))}}
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
