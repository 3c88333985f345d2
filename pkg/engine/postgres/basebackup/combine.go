package basebackup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// combiner is the visitor of a full backup that follows one which adds to it: of its files only those are made that
// changed in part. All others are gone, or whole in the other backup.
type combiner struct {
	*contents

	// source is the archive, with the changes.
	source io.ReaderAt
	root   *os.Root
	// changes are those that wait for their file.
	changes map[key]span
	// made are the files that differ from both backups.
	made map[key]listed

	file  *os.File
	sum   hash.Hash
	merge *merge
}

func (c *combiner) begin(e entry) (err error) {
	if err := c.contents.begin(e); err != nil {
		return err
	}
	k := keyOf(e.name)
	where, found := c.changes[k]
	if e.kind != kindFile || !found {
		return nil
	}
	delete(c.changes, k)
	m := &merge{from: c.source}
	if m.changes, err = readChanges(c.source, where.at, where.size); err != nil {
		return fmt.Errorf("read the changes of %q: %w", e.name, err)
	}
	if c.file, err = create(c.root, e.name); err != nil {
		return err
	}
	c.sum = sha256.New()
	m.to = io.MultiWriter(c.file, c.sum)
	c.merge = m
	return nil
}

func (c *combiner) data(p []byte) error {
	if c.merge != nil {
		if _, err := c.merge.Write(p); err != nil {
			return err
		}
	}
	return c.contents.data(p)
}

func (c *combiner) end() error {
	if c.merge != nil {
		if err := c.merge.end(); err != nil {
			return err
		}
		c.note(c.now.name, int64(c.merge.length)*pageSize, c.sum)
		c.merge = nil
	}
	return errors.Join(c.contents.end(), c.close())
}

func (c *combiner) close() error {
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

// note keeps what the manifest is to say of a file.
func (c *combiner) note(name string, size int64, sum hash.Hash) {
	c.made[keyOf(name)] = listed{Size: size, Checksum: hex.EncodeToString(sum.Sum(nil))}
}

// finish completes the directory of the backup with those facts: its label says no more that it holds changes, and its
// manifest lists the files that there are.
func (c *combiner) finish(f Facts, manifest span) error {
	full, err := c.complete()
	if err == nil {
		err = f.addsTo(full)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the backup that it adds to: %w", err)
	case len(c.changes) > 0:
		return bad("the backup that it adds to lacks %d files", len(c.changes))
	}
	if err := c.label(); err != nil {
		return err
	}
	if err := c.root.Remove(manifestName); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	out, err := create(c.root, manifestName)
	if err != nil {
		return err
	}
	err = c.manifestTo(out, io.NewSectionReader(c.source, manifest.at, manifest.size))
	return errors.Join(err, out.Close())
}

// label takes the lines out by which a server refuses changes.
func (c *combiner) label() error {
	raw, err := c.root.ReadFile(labelName)
	if err != nil {
		return fmt.Errorf("read the label: %w", err)
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(raw) {
		if !bytes.HasPrefix(line, []byte(labelSince)) && !bytes.HasPrefix(line, []byte(labelSinceTimeline)) {
			kept.Write(line)
		}
	}
	if err := c.root.WriteFile(labelName, kept.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the label: %w", err)
	}
	sum := sha256.New()
	sum.Write(kept.Bytes())
	c.note(labelName, int64(kept.Len()), sum)
	return nil
}

// manifestTo writes the manifest of the backup with the files that were made.
func (c *combiner) manifestTo(to io.Writer, from io.Reader) error {
	w := bufio.NewWriter(to)
	sum := sha256.New()
	lines := bufio.NewReaderSize(from, mostLine+2)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, checksumLine) {
			_, err = fmt.Fprintf(w, "%s \"%x\"}\n", checksumLine, sum.Sum(nil))
			return errors.Join(err, w.Flush())
		}
		if err != nil {
			return fmt.Errorf("write the manifest: %w", err)
		}
		if line, err = c.line(line); err != nil {
			return err
		}
		sum.Write([]byte(line))
		if _, err := w.WriteString(line); err != nil {
			return fmt.Errorf("write the manifest: %w", err)
		}
	}
}

// line is what the manifest says of a file, which may have been made of two.
func (c *combiner) line(line string) (string, error) {
	if !strings.HasPrefix(strings.TrimSpace(line), `{ "Path":`) {
		return line, nil
	}
	var f listed
	text := strings.TrimSpace(line)
	if err := take(strings.TrimSuffix(text, ","), &f); err != nil {
		return "", err
	}
	name, changed := changedName(f.Path)
	made, found := c.made[keyOf(name)]
	if !found && changed {
		return "", bad("the changes of %q were not used", name)
	}
	if !found {
		return line, nil
	}
	path, err := json.Marshal(name)
	if err != nil {
		return "", fmt.Errorf("write the manifest: %w", err)
	}
	end := "\n"
	if strings.HasSuffix(text, ",") {
		end = ",\n"
	}
	return fmt.Sprintf(`{ "Path": %s, "Size": %d, "Last-Modified": "%s", `+
		`"Checksum-Algorithm": "SHA256", "Checksum": "%s" }%s`, path, made.Size, f.Modified, made.Checksum, end), nil
}
