// Command sbom writes what an image is made of, as CycloneDX JSON: the programs
// in it with every Go module that is linked into them, as the programs
// themselves say, and the C code, which no Go tool sees. The same input gives
// the same bytes.
//
//	sbom -o image.cdx.json -t hookpolicy:dev -image image.tar -parser DIR -libc "glibc 2.41" PROGRAM...
//	sbom -check image.cdx.json -image image.tar PROGRAM...
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
)

// An input is what a list of parts is made from.
type input struct {
	tag      string   // name:version of the image
	image    string   // its archive
	parser   string   // directory of the module that brings PostgreSQL's parser
	libc     string   // name and version of the C library, as getconf prints it
	programs []string // files
}

func main() {
	var in input
	out := flag.String("o", "", "file to write")
	checked := flag.String("check", "", "file to check instead: does it describe this image and these programs?")
	flag.StringVar(&in.tag, "t", "", "name:version of the image")
	flag.StringVar(&in.image, "image", "", "archive of the image")
	flag.StringVar(&in.parser, "parser", "", "directory of the module pg_query_go")
	flag.StringVar(&in.libc, "libc", "", "name and version of the C library that is linked in")
	flag.Parse()
	in.programs = flag.Args()
	if err := run(*out, *checked, in); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(out, checked string, in input) error {
	if checked != "" {
		return check(checked, in)
	}
	if out == "" {
		return errors.New("-o FILE or -check FILE is needed")
	}
	bom, err := describe(in)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := encode(&buf, bom); err != nil {
		return err
	}
	if err := os.WriteFile(out, buf.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	fmt.Printf("%s %d components\n", out, len(*bom.Components))
	return nil
}
