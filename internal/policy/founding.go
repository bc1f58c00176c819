package policy

import "github.com/hookpolicy/hookpolicy/api/v1alpha1"

// The names of the hooks of a policy that lists none.
const (
	foundingPathsName = "path-allowlist"
	foundingSQLName   = "destructive-sql"
)

// dataDirectory is where tenants' data lie, a directory for each namespace.
const dataDirectory = "/data/"

// founding is what a kind of hook knows about one of the tools that it was made
// for. The first argument is judged always, the others when the policy gives no
// data of its own for the tool.
type founding struct {
	tool      string
	arguments []string
	data      []v1alpha1.Datum
}

func foundingPaths() []founding {
	var tools []founding
	for _, tool := range []string{"kb_add_file", "kb_add_path", "db_import_csv"} {
		tools = append(tools, founding{
			tool:      tool,
			arguments: []string{"path", "paths"},
			data:      []v1alpha1.Datum{datum(tool, "table", v1alpha1.DataTypeIdentifier)},
		})
	}
	return tools
}

func foundingSQL() []founding {
	const tool = "db_query_sql"
	return []founding{{
		tool:      tool,
		arguments: []string{"sql"},
		data: []v1alpha1.Datum{
			datum(tool, "params", v1alpha1.DataTypeAny),
			datum(tool, "read_only", v1alpha1.DataTypeBoolean),
			datum(tool, "dry_run", v1alpha1.DataTypeBoolean),
			datum(tool, "table", v1alpha1.DataTypeIdentifier),
		},
	}}
}

func datum(tool, path string, t v1alpha1.DataType) v1alpha1.Datum {
	return v1alpha1.Datum{Argument: v1alpha1.Argument{Tool: tool, Path: path}, Type: t}
}

// foundingHooks are the hooks of a policy that lists none.
func foundingHooks() []v1alpha1.Hook {
	return []v1alpha1.Hook{
		{Name: foundingPathsName, PathAllowlist: &v1alpha1.PathAllowlist{}},
		{Name: foundingSQLName, DestructiveSQL: &v1alpha1.DestructiveSQL{}},
	}
}
