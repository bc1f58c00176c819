package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v2"
)

// documents reads the documents of a YAML stream one after the other. It is
// the reader that kubectl uses, version and all, so a word such as yes means
// in a file what it means in the cluster; but a key that stands twice is an
// error, and so is a key that is no string.
//
// Each document is given to use, or is what is wrong with it; index counts
// them from 1. It ends the stream by returning false, and so does a syntax error.
func documents(stream []byte, use func(index int, value any, err error) bool) {
	d := yaml.NewDecoder(bytes.NewReader(stream))
	d.SetStrict(true)
	for index := 1; ; index++ {
		var raw any
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return
		}
		if _, ok := errors.AsType[*yaml.TypeError](err); err != nil && !ok {
			use(index, nil, yamlProblem(err)) // what follows cannot be told apart
			return
		}
		value, valueErr := jsonValue(raw)
		if err != nil {
			value, valueErr = nil, yamlProblem(err)
		}
		if !use(index, value, valueErr) {
			return
		}
	}
}

// yamlProblem rewords the reader's errors.
func yamlProblem(err error) error {
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		return errors.New(strings.Join(wrong.Errors, "; "))
	}
	return errors.New("cannot be read as YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
}

// jsonValue turns what the YAML reader returns into the values of JSON, as the
// API server has them: integers are int64, other numbers float64.
func jsonValue(raw any) (any, error) {
	switch v := raw.(type) {
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("the key %v is no string: put it in quotation marks", key)
			}
			var err error
			if object[name], err = jsonValue(value); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			var err error
			if list[i], err = jsonValue(value); err != nil {
				return nil, err
			}
		}
		return list, nil
	case int:
		return int64(v), nil
	case nil, string, bool, int64:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a number is infinite or none")
		}
		return v, nil
	case uint64:
		return nil, fmt.Errorf("the number %d is too large: put it in quotation marks, or make it smaller", v)
	default:
		return nil, fmt.Errorf("a value of type %T has no place in a policy", v)
	}
}
