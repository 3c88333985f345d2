package basebackup

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Facts is what a base backup says of itself.
type Facts struct {
	// System is the identifier of the database, Major the version of the data.
	System, Major string
	// Start and End are the part of the log that recovery needs, Timeline that of its end.
	Start, End, Timeline uint64
	// First is the timeline of the start, LogFile the file of the log that holds it.
	First   uint64
	LogFile string
	// Files and Bytes are those of the data, without the log; zero where they were not counted.
	Files, Bytes int64
	// Manifest is the checksum of the manifest: with it goes that of every file.
	Manifest string
}

// Proof is the same for backups of the same bytes.
func (f Facts) Proof() string {
	return fmt.Sprintf("manifest %s, timeline %d, lsn %s", f.Manifest, f.Timeline, FormatLSN(f.End))
}

// newFacts reads the files that were kept. They have to agree with the manifest.
func newFacts(kept map[string]*bytes.Buffer, m *manifest) (Facts, error) {
	for _, name := range []string{labelName, controlName, versionName} {
		if kept[name] == nil {
			return Facts{}, bad("%q is missing", name)
		}
	}
	f := Facts{Manifest: m.checksum, Major: strings.TrimSpace(kept[versionName].String())}
	control := kept[controlName].Bytes()
	if len(control) < 8 {
		return Facts{}, bad("%q has %d bytes", controlName, len(control))
	}
	f.System = strconv.FormatUint(binary.LittleEndian.Uint64(control), 10)
	if m.system != "" && m.system != f.System {
		return Facts{}, bad("the manifest is of the database %s, the data of %s", m.system, f.System)
	}
	if err := f.readRanges(m); err != nil {
		return Facts{}, err
	}
	return f, f.readLabel(kept[labelName].String())
}

// readRanges takes the whole log that is needed. The server lists the newest timeline first.
func (f *Facts) readRanges(m *manifest) error {
	if m.version < 1 || m.version > 2 {
		return bad("the version of the manifest is %d, and 1 and 2 are known", m.version)
	}
	if len(m.ranges) == 0 {
		return bad("the manifest names no log")
	}
	for i, r := range m.ranges {
		begin, err := ParseLSN(r.Start)
		if err != nil {
			return err
		}
		end, err := ParseLSN(r.End)
		if err != nil {
			return err
		}
		if i == 0 || begin < f.Start {
			f.Start, f.First = begin, r.Timeline
		}
		f.End = max(f.End, end)
		f.Timeline = max(f.Timeline, r.Timeline)
	}
	return nil
}

// readLabel compares the label, by which a server begins to recover.
func (f *Facts) readLabel(label string) error {
	for line := range strings.Lines(label) {
		after, found := strings.CutPrefix(line, "START WAL LOCATION: ")
		if !found {
			continue
		}
		word, _, _ := strings.Cut(after, " ")
		at, err := ParseLSN(word)
		if err != nil {
			return err
		}
		if at != f.Start {
			return bad("%q begins at %s, the log of the manifest at %s", labelName, word, FormatLSN(f.Start))
		}
		return nil
	}
	return bad("%q does not say where the log begins", labelName)
}
