package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A vendored part says of itself which version it is.
type vendored struct {
	name, licence, purl string // purl ends before the version
	file                string // within the module
	version             *regexp.Regexp
}

// parts are the C code that pg_query_go brings.
var parts = []vendored{
	{
		"libpg_query", "BSD-3-Clause", "pkg:github/pganalyze/libpg_query@", "Makefile",
		regexp.MustCompile(`(?m)^LIB_PG_QUERY_TAG = (\S+)$`),
	},
	{
		"postgresql", "PostgreSQL", "pkg:generic/postgresql@", "parser/include/pg_query.h",
		regexp.MustCompile(`(?m)^#define PG_VERSION "([^"]+)"`),
	},
	{
		"xxhash", "BSD-2-Clause", "pkg:github/Cyan4973/xxHash@v", "parser/include/xxhash/xxhash.h",
		regexp.MustCompile(`#define XXH_VERSION_MAJOR\s+(\d+)\s+#define XXH_VERSION_MINOR\s+(\d+)\s+#define XXH_VERSION_RELEASE\s+(\d+)`),
	},
	{
		"protobuf-c", "BSD-2-Clause", "pkg:github/protobuf-c/protobuf-c@v", "parser/include/protobuf-c/protobuf-c.h",
		regexp.MustCompile(`#define PROTOBUF_C_VERSION\s+"([^"]+)"`),
	},
}

// parserParts reads the versions from the module that was compiled.
func parserParts(dir string) ([]cdx.Component, error) {
	var all []cdx.Component
	for _, v := range parts {
		doc, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(v.file)))
		if err != nil {
			return nil, fmt.Errorf("find the version of %s: %w", v.name, err)
		}
		m := v.version.FindStringSubmatch(string(doc))
		if m == nil {
			return nil, fmt.Errorf("%s does not say which version of %s it is", v.file, v.name)
		}
		version := strings.Join(m[1:], ".")
		all = append(all, part(v.name, version, v.licence, v.purl+version))
	}
	return all, nil
}
