package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// parserModule is the Go module that brings C code.
const parserModule = "github.com/pganalyze/pg_query_go/"

// A list grows to be a BOM.
type list struct {
	components map[string]cdx.Component // by reference
	needs      map[string][]string
}

func describe(in input) (*cdx.BOM, error) {
	name, version, _ := strings.Cut(in.tag, ":")
	hash, err := hashOf(in.image)
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	l := &list{components: make(map[string]cdx.Component), needs: make(map[string][]string)}
	image := cdx.Component{
		BOMRef: "image", Type: cdx.ComponentTypeContainer, Name: name, Version: version, Hashes: sha256Of(hash),
	}
	for _, path := range in.programs {
		if err := l.program(path, version, in); err != nil {
			return nil, fmt.Errorf("describe %s: %w", filepath.Base(path), err)
		}
		l.needs[image.BOMRef] = append(l.needs[image.BOMRef], programRef(path))
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(hash)
	bom.Metadata = &cdx.Metadata{Component: &image}
	bom.Components, bom.Dependencies = l.sorted()
	return bom, nil
}

func programRef(path string) string { return "program/" + filepath.Base(path) }

// program adds a program and what it says that it is linked of.
func (l *list) program(path, version string, in input) error {
	hash, err := hashOf(path)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read what it was built of: %w", err)
	}
	ref := programRef(path)
	l.components[ref] = cdx.Component{
		BOMRef: ref, Type: cdx.ComponentTypeApplication, Name: filepath.Base(path), Version: version,
		Hashes: sha256Of(hash), Licenses: licence("Apache-2.0"), Description: info.Path,
	}
	l.add(ref, golang("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(m)
		l.add(ref, c)
		if strings.HasPrefix(m.Path, parserModule) {
			vendored, err := parserParts(in.parser)
			if err != nil {
				return err
			}
			for _, v := range vendored {
				l.add(c.BOMRef, v)
			}
		}
	}
	if usesC(info) {
		libc, version, ok := strings.Cut(in.libc, " ")
		if !ok {
			return fmt.Errorf("it is linked with a C library: name and version are needed, not %q", in.libc)
		}
		l.add(ref, part(libc, version, "LGPL-2.1-or-later", ""))
	}
	return nil
}

func usesC(info *debug.BuildInfo) bool {
	return slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "CGO_ENABLED" && s.Value == "1" })
}

func (l *list) add(of string, c cdx.Component) {
	l.components[c.BOMRef] = c
	if !slices.Contains(l.needs[of], c.BOMRef) {
		l.needs[of] = append(l.needs[of], c.BOMRef)
	}
}

func (l *list) sorted() (*[]cdx.Component, *[]cdx.Dependency) {
	components := slices.SortedFunc(maps.Values(l.components), func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	var dependencies []cdx.Dependency
	for _, ref := range slices.Sorted(maps.Keys(l.needs)) {
		on := slices.Sorted(slices.Values(l.needs[ref]))
		dependencies = append(dependencies, cdx.Dependency{Ref: ref, Dependencies: &on})
	}
	return &components, &dependencies
}

func module(m *debug.Module) cdx.Component { return golang(m.Path, m.Version) }

func golang(path, version string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}

// part is a library in C.
func part(name, version, id, purl string) cdx.Component {
	return cdx.Component{
		BOMRef: "c/" + name + "@" + version, Type: cdx.ComponentTypeLibrary, Name: name, Version: version,
		PackageURL: purl, Licenses: licence(id),
	}
}

func licence(id string) *cdx.Licenses { return &cdx.Licenses{{License: &cdx.License{ID: id}}} }

func sha256Of(hash string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hash}}
}

func hashOf(path string) (string, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// serial names a list by its image: a UUID of version 8, whose bits are free.
func serial(hash string) string {
	b, _ := hex.DecodeString(hash[:32]) // it came from EncodeToString
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// encode writes without a time: what is the same must look the same.
func encode(w io.Writer, bom *cdx.BOM) error {
	if err := cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return nil
}
