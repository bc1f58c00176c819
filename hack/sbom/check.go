package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// check holds a list to an image and the programs in it: their hashes, and
// every module that they are linked of.
func check(path string, in input) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the list: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	if bom.Metadata == nil || bom.Metadata.Component == nil || bom.Components == nil {
		return fmt.Errorf("%s describes nothing", path)
	}
	listed := make(map[string]cdx.Component, len(*bom.Components))
	for _, c := range *bom.Components {
		listed[c.BOMRef] = c
	}
	if err := sameHash(*bom.Metadata.Component, in.image); err != nil {
		return err
	}
	for _, program := range in.programs {
		if err := sameHash(listed[programRef(program)], program); err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return fmt.Errorf("read what %s was built of: %w", filepath.Base(program), err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if _, ok := listed[module(m).BOMRef]; !ok {
				return fmt.Errorf("the list lacks %s %s of %s", m.Path, m.Version, filepath.Base(program))
			}
		}
	}
	fmt.Printf("%s describes %s: %d components\n", path, filepath.Base(in.image), len(listed))
	return nil
}

func sameHash(c cdx.Component, path string) error {
	hash, err := hashOf(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	if c.Hashes == nil || len(*c.Hashes) != 1 || (*c.Hashes)[0].Value != hash {
		return fmt.Errorf("%s is not the one that the list describes", filepath.Base(path))
	}
	return nil
}
