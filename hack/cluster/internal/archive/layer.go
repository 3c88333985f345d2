// Package archive lays out container images and writes them as archives that
// `ctr images import` takes. There is no registry: this is all there is.
package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// NonRoot is the user that distroless images call "nonroot".
const NonRoot = 65532

// entry is one file or directory of a layer; a directory has no content and
// a name that ends in a slash.
type entry struct {
	name    string
	mode    int64
	owner   int
	content []byte
	// link is where a symbolic link leads.
	link string
}

// base is what the static distroless image has that a program may miss.
func base() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
		{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "home/", mode: 0o755},
		{name: "home/nonroot/", mode: 0o700, owner: NonRoot},
		{name: "root/", mode: 0o700},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "var/", mode: 0o755},
	}
}

// programs reads files of the machine as the image's /usr/local/bin.
func programs(paths []string) ([]entry, error) {
	var entries []entry
	for _, file := range paths {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a program for an image: %w", err)
		}
		entries = append(entries, entry{name: "usr/local/bin/" + path.Base(file), mode: 0o755, content: content})
	}
	return entries, nil
}

// layer packs entries. It stays uncompressed: it only moves from this disk to
// this disk, and compressing takes longer than everything else. Times are
// fixed, so equal content gives an equal image.
func layer(entries []entry) (v1.Layer, error) {
	size := 0
	for _, e := range entries {
		size += len(e.content) + 2048
	}
	buffer := bytes.NewBuffer(slices.Grow([]byte(nil), size))
	writer := tar.NewWriter(buffer)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.content)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg,
		}
		switch {
		case strings.HasSuffix(e.name, "/"):
			header.Typeflag = tar.TypeDir
		case e.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s into a layer: %w", e.name, err)
		}
		if _, err := writer.Write(e.content); err != nil {
			return nil, fmt.Errorf("pack %s into a layer: %w", e.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("finish a layer: %w", err)
	}
	return static.NewLayer(buffer.Bytes(), types.DockerUncompressedLayer), nil
}
