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
	// Since is where the log of the backup begins that this one holds the changes since, SinceTimeline the timeline of
	// that place; both are zero of a full backup.
	Since, SinceTimeline uint64
}

// Incremental reports whether the backup holds only what changed since another one.
func (f Facts) Incremental() bool { return f.SinceTimeline != 0 }

// addsTo fails unless the changes are those since a full backup.
func (f Facts) addsTo(full Facts) error {
	switch {
	case full.Incremental():
		return bad("the backup that it adds to holds changes itself")
	case full.System != f.System:
		return bad("it is of the database %s, the backup that it adds to of %s", f.System, full.System)
	case full.Start != f.Since || full.First != f.SinceTimeline:
		return bad("it holds the changes since %s on timeline %d, and the backup that it adds to begins at %s on timeline %d",
			FormatLSN(f.Since), f.SinceTimeline, FormatLSN(full.Start), full.First)
	}
	return nil
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

// Lines of the label.
const (
	labelStart         = "START WAL LOCATION: "
	labelSince         = "INCREMENTAL FROM LSN: "
	labelSinceTimeline = "INCREMENTAL FROM TLI: "
)

// readLabel compares the label, by which a server begins to recover.
func (f *Facts) readLabel(label string) error {
	begins := false
	for line := range strings.Lines(label) {
		line = strings.TrimSuffix(line, "\n")
		if after, found := strings.CutPrefix(line, labelStart); found {
			word, _, _ := strings.Cut(after, " ")
			at, err := ParseLSN(word)
			if err != nil {
				return err
			}
			if at != f.Start {
				return bad("%q begins at %s, the log of the manifest at %s", labelName, word, FormatLSN(f.Start))
			}
			begins = true
		}
		var err error
		if after, found := strings.CutPrefix(line, labelSince); found {
			f.Since, err = ParseLSN(after)
		}
		if after, found := strings.CutPrefix(line, labelSinceTimeline); found {
			f.SinceTimeline, err = strconv.ParseUint(after, 10, 32)
		}
		if err != nil {
			return bad("%q has a line that can't be read: %.100q", labelName, line)
		}
	}
	switch {
	case !begins:
		return bad("%q does not say where the log begins", labelName)
	case (f.Since == 0) != (f.SinceTimeline == 0):
		return bad("%q says only in part what it holds the changes since", labelName)
	}
	return nil
}
