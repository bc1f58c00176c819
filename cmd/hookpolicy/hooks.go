package main

import (
	"fmt"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/hooks/rewrite"
	"github.com/hookpolicy/hookpolicy/internal/hooks/risk"
	"github.com/hookpolicy/hookpolicy/internal/hooks/sql"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// newConstructors is the table of hooks: what each kind of a policy's hook is
// made by. A program with a hook of its own has one more row.
func newConstructors() (chain.Constructors, error) {
	classifier, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		return nil, fmt.Errorf("set up the SQL parser: %w", err)
	}
	return chain.Constructors{
		plan.KindPathAllowlist:  paths.New,
		plan.KindDestructiveSQL: sql.New(sql.Classifiers{plan.DialectPostgres: classifier}),
		plan.KindRewrite:        rewrite.New(classifier),
		plan.KindRisk:           risk.New,
	}, nil
}
