// Command mkimage assembles a container image of given files from scratch, with
// no engine and no base image, and writes the archive that "docker load" and
// "ctr images import" read. The same input gives the same bytes.
//
//	mkimage -o image.tar -t hookpolicy:dev -entrypoint /hookpolicy -user 65532:65532 SOURCE:PATH[:MODE]...
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// words collects a flag that may be given several times.
type words []string

func (w *words) String() string     { return strings.Join(*w, " ") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

func main() {
	out := flag.String("o", "image.tar", "archive to write")
	tag := flag.String("t", "", "name:tag of the image")
	user := flag.String("user", "65532:65532", "user and group that the program runs as")
	var entrypoint words
	flag.Var(&entrypoint, "entrypoint", "a word of the command; may be repeated")
	flag.Parse()
	if err := run(*out, *tag, *user, entrypoint, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

func run(out, tag, user string, entrypoint, specs []string) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("read the tag: %w", err)
	}
	files, err := readFiles(specs)
	if err != nil {
		return err
	}
	layer, err := layerOf(files)
	if err != nil {
		return fmt.Errorf("pack the files: %w", err)
	}
	img, err := imageOf(layer, user, entrypoint)
	if err != nil {
		return fmt.Errorf("make the image: %w", err)
	}
	if err := tarball.WriteToFile(out, ref, img); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("read the digest: %w", err)
	}
	fmt.Printf("%s %s %s\n", out, tag, digest)
	return nil
}

type file struct {
	path string // within the image, without the leading slash
	mode int64
	data []byte
}

func readFiles(specs []string) ([]file, error) {
	var files []file
	for _, s := range specs {
		parts := strings.Split(s, ":")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("%q is not SOURCE:PATH[:MODE]", s)
		}
		mode := int64(0o755)
		if len(parts) == 3 {
			var err error
			if mode, err = strconv.ParseInt(parts[2], 8, 64); err != nil {
				return nil, fmt.Errorf("mode of %q: %w", s, err)
			}
		}
		data, err := os.ReadFile(parts[0])
		if err != nil {
			return nil, fmt.Errorf("read a file for the image: %w", err)
		}
		files = append(files, file{path: strings.TrimPrefix(path.Clean(parts[1]), "/"), mode: mode, data: data})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files, nil
}

// layerOf packs files and the folders above them, with no times and no owners,
// so that the bytes depend on nothing else.
func layerOf(files []file) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range parents(files) {
		if err := w.WriteHeader(&tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.path, Typeflag: tar.TypeReg, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	})
}

func parents(files []file) []string {
	var dirs []string
	for _, f := range files {
		for d := path.Dir(f.path); d != "."; d = path.Dir(d) {
			dirs = append(dirs, d)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func imageOf(layer v1.Layer, user string, entrypoint []string) (v1.Image, error) {
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint, config.Config.User = entrypoint, user
	return mutate.ConfigFile(img, config)
}
