package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// given is an input whose program is this test, and whose image is a file.
func given(t *testing.T) input {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(image, []byte("layers"), 0o600); err != nil {
		t.Fatal(err)
	}
	return input{tag: "hookpolicy:v1", image: image, libc: "glibc 2.41", programs: []string{self}}
}

func written(t *testing.T, in input) []byte {
	t.Helper()
	bom, err := describe(in)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := encode(&buf, bom); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestAProgramIsDescribedByWhatItIsLinkedOf(t *testing.T) {
	in := given(t)
	doc := written(t, in)
	for _, want := range []string{
		`"bomFormat": "CycloneDX"`, `"specVersion": "1.6"`, `"name": "hookpolicy"`, "pkg:golang/github.com/CycloneDX/cyclonedx-go@v", "pkg:golang/stdlib@1.",
	} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	if !bytes.Equal(doc, written(t, in)) {
		t.Error("the same input gives other bytes")
	}
}

func TestTheCheckFindsWhatTheListDoesNotDescribe(t *testing.T) {
	in := given(t)
	doc := written(t, in)
	path := filepath.Join(t.TempDir(), "list.json")
	write := func(doc []byte) {
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(doc)
	if err := check(path, in); err != nil {
		t.Fatalf("its own list: %v", err)
	}
	write(bytes.ReplaceAll(doc, []byte("pkg:golang/github.com/CycloneDX/"), []byte("pkg:golang/github.com/other/")))
	if err := check(path, in); err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("without a module: %v", err)
	}
	write(doc)
	if err := os.WriteFile(in.image, []byte("other layers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(path, in); err == nil || !strings.Contains(err.Error(), "image.tar is not the one") {
		t.Errorf("another image: %v", err)
	}
}

func TestVersionsOfCCodeComeFromTheCodeItself(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Makefile":                               "LIB_PG_QUERY_TAG = 16-5.1.0\n",
		"parser/include/pg_query.h":              "#define PG_VERSION \"16.1\"\n",
		"parser/include/xxhash/xxhash.h":         "#define XXH_VERSION_MAJOR    0\n#define XXH_VERSION_MINOR    8\n#define XXH_VERSION_RELEASE  0\n",
		"parser/include/protobuf-c/protobuf-c.h": "#define PROTOBUF_C_VERSION\t\t\"1.4.0\"\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts, err := parserParts(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		got = append(got, p.Name+" "+p.Version)
	}
	if want := "libpg_query 16-5.1.0, postgresql 16.1, xxhash 0.8.0, protobuf-c 1.4.0"; strings.Join(got, ", ") != want {
		t.Errorf("parts are %q, want %s", got, want)
	}
	if _, err := parserParts(t.TempDir()); err == nil {
		t.Error("a directory without the code is described")
	}
}
