package rewrite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// limitTo takes over the settings of a limit.
func (r *hook) limitTo(s *plan.SQLLimit) error {
	if s.Max < 1 {
		return errors.New("no rows would be left")
	}
	if r.limiter == nil {
		return errors.New("no SQL can be limited here")
	}
	path, err := argpath.Parse(s.Path)
	if err != nil {
		return fmt.Errorf("path %q: %w", s.Path, err)
	}
	r.limit, r.maxRows = &path, int(s.Max)
	return nil
}

// limitSQL puts the limit into every text at its path, in place. A call
// without the argument has nothing to limit.
func (r *hook) limitSQL(ctx context.Context, args map[string]any) (refused *chain.Deny, err error) {
	l := limiting{hook: r}
	if r.limit != nil {
		r.limit.Replace(args, func(v any) any { return l.value(ctx, v) })
	}
	if l.err != nil {
		return nil, fmt.Errorf("limit the rows of SQL: %w", l.err)
	}
	return l.refused, nil
}

// limiting is the limiting of one call's texts, up to the first that cannot be.
type limiting struct {
	hook    *hook
	refused *chain.Deny
	err     error
}

// value returns what stands for a value after it was limited.
func (l *limiting) value(ctx context.Context, v any) any {
	if l.err != nil || l.refused != nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return l.text(ctx, v)
	case []any:
		texts := make([]any, len(v))
		for i, e := range v {
			text, ok := e.(string)
			if !ok {
				l.refuse(CodeNotText, "the argument "+l.hook.limit.String()+" must be SQL text")
				return v
			}
			texts[i] = l.text(ctx, text)
		}
		return texts
	default:
		l.refuse(CodeNotText, "the argument "+l.hook.limit.String()+" must be SQL text")
		return v
	}
}

func (l *limiting) text(ctx context.Context, text string) string {
	limited, code, hint, err := l.hook.limiter.LimitRows(ctx, text, l.hook.maxRows)
	switch {
	case err != nil:
		l.err = err
		return text
	case code != "":
		message := fmt.Sprintf("Queries may give at most %d rows here, and this SQL cannot be limited to that.", l.hook.maxRows)
		if hint != "" {
			message += " " + strings.ToUpper(hint[:1]) + hint[1:] + "."
		}
		l.refuse(code, message)
		return text
	}
	return limited
}

func (l *limiting) refuse(code, message string) {
	if l.refused == nil {
		l.refused = &chain.Deny{
			Basis:   chain.Basis{Rule: code, Facts: map[string]any{"argument": l.hook.limit.String()}},
			Code:    code,
			Message: message,
		}
	}
}
