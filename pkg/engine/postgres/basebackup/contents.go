package basebackup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

const (
	labelName    = "backup_label"
	controlName  = "global/pg_control"
	versionName  = "PG_VERSION"
	manifestName = "backup_manifest"
	// mostKept is how long a file may be that is kept in memory.
	mostKept = 64 << 10
)

// seen is what is kept of a file until the manifest lists it.
type seen struct {
	size int64
	sum  [sha256.Size]byte
}

// key is the hash of a name: names of a million files would take much room.
type key [16]byte

func keyOf(name string) (k key) {
	sum := sha256.Sum256([]byte(name))
	copy(k[:], sum[:])
	return k
}

// contents is the visitor that compares every file with the manifest.
type contents struct {
	files map[key]seen
	kept  map[string]*bytes.Buffer
	log   segments
	// manifest is nil until it begins.
	manifest *manifest
	count    int64
	bytes    int64

	now entry
	sum hash.Hash
}

func newContents() *contents {
	return &contents{files: map[key]seen{}, kept: map[string]*bytes.Buffer{}, sum: sha256.New()}
}

// keeps says whether a file is read for the facts.
func keeps(name string) bool { return name == labelName || name == controlName || name == versionName }

func (c *contents) begin(e entry) error {
	if c.manifest != nil {
		return bad("%q follows the manifest", e.name)
	}
	c.now = e
	switch {
	case e.kind == kindDirectory:
	case e.name == manifestName:
		c.manifest = newManifest(c.compare)
	case isLog(e):
		return c.log.add(e)
	case keeps(e.name):
		if e.size > mostKept {
			return bad("%q has %d bytes", e.name, e.size)
		}
		c.kept[e.name] = &bytes.Buffer{}
	}
	return nil
}

func (c *contents) data(p []byte) error {
	if c.manifest != nil {
		_, err := c.manifest.Write(p)
		return err
	}
	if !isLog(c.now) {
		c.sum.Write(p)
	}
	if b := c.kept[c.now.name]; b != nil {
		b.Write(p)
	}
	return nil
}

func (c *contents) end() error {
	if c.now.kind == kindDirectory || c.manifest != nil || isLog(c.now) {
		return nil
	}
	found := seen{size: c.now.size}
	c.sum.Sum(found.sum[:0])
	c.sum.Reset()
	k := keyOf(c.now.name)
	if _, twice := c.files[k]; twice {
		return bad("%q is there twice", c.now.name)
	}
	c.files[k] = found
	c.count++
	c.bytes += c.now.size
	return nil
}

// compare takes what the manifest says of a file.
func (c *contents) compare(want listed) error {
	if want.Algorithm != "SHA256" {
		return bad("the manifest has a checksum of %q by %q, not by SHA256", want.Path, want.Algorithm)
	}
	k := keyOf(want.Path)
	have, there := c.files[k]
	switch {
	case !there:
		return bad("%q is missing", want.Path)
	case have.size != want.Size:
		return bad("%q has %d bytes, the manifest says %d", want.Path, have.size, want.Size)
	case hex.EncodeToString(have.sum[:]) != want.Checksum:
		return bad("%q is damaged: its checksum is %x, the manifest says %s", want.Path, have.sum, want.Checksum)
	}
	delete(c.files, k)
	return nil
}

// complete fails unless all that the manifest lists was there, and nothing else.
func (c *contents) complete() (Facts, error) {
	switch {
	case c.manifest == nil:
		return Facts{}, bad("the archive has no manifest")
	case c.manifest.checksum == "":
		return Facts{}, bad("the manifest ends too early")
	case len(c.files) > 0:
		return Facts{}, bad("the archive has %d files that the manifest does not list", len(c.files))
	}
	f, err := newFacts(c.kept, c.manifest)
	if err != nil {
		return Facts{}, err
	}
	if err := c.log.hold(f.Start, f.End); err != nil {
		return Facts{}, fmt.Errorf("recover the backup: %w", err)
	}
	f.Files, f.Bytes, f.LogFile = c.count, c.bytes, c.log.name(f.First, f.Start)
	return f, nil
}
