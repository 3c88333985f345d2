//go:build linux

package logfiles

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// logOf makes the log of a server: files, and marks of some of them.
func logOf(t *testing.T, pgdata string, files, marks []string) {
	t.Helper()
	wal := filepath.Join(pgdata, "pg_wal")
	if err := os.MkdirAll(filepath.Join(wal, "archive_status"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Concat(files, marks) {
		if i >= len(files) {
			name = filepath.Join("archive_status", name)
		}
		if err := os.WriteFile(filepath.Join(wal, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeepEnded: what is whole and has no mark is kept, once; the end of a history that was given up is not, nor a file
// that is still to be written, whatever its name says.
func TestKeepEnded(t *testing.T) {
	t.Parallel()
	past := datadir.Lineage{Timeline: 4, Forks: []datadir.Fork{{Timeline: 1, End: 0x5000028},
		{Timeline: 2, End: 0x7000000}, {Timeline: 3, End: 0x1_0000_0000}}}
	files := []string{"000000010000000000000004", "000000010000000000000005", "000000020000000000000006",
		"0000000300000000000000FF", "000000040000000100000000", "000000040000000100000001", "00000004.history"}
	tests := []struct {
		name   string
		marks  []string
		offset uint64
		want   []string
	}{
		{"nothing is known yet", nil, 0, nil},
		{"no marks", nil, 0x1_0100_0000, []string{files[0], files[2], files[3], files[4]}},
		{"in the middle of a file", nil, 0x1_00FF_FFFF, []string{files[0], files[2], files[3]}},
		{"before a fork", nil, 0x6000000, []string{files[0]}},
		{"waits already", []string{files[2] + ".ready"}, 0x7000000, []string{files[0], files[2]}},
		{"archived", []string{files[0] + ".done", files[3] + ".done"}, 0x1_0100_0000, []string{files[2], files[4]}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &Files{Pgdata: t.TempDir()}
			logOf(t, f.Pgdata, files, test.marks)
			for range 2 {
				if err := f.keepEnded(past, protocol.Position{Timeline: 4, Offset: test.offset}); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := f.Waiting(); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%v wait, %v; want %v", got, err, test.want)
			}
		})
	}
	f := &Files{Pgdata: t.TempDir()}
	if err := f.keepEnded(past, protocol.Position{}); err != nil {
		t.Errorf("without data: %v", err)
	}
}

// TestOfferCopied: no file of a copy counts as archived.
func TestOfferCopied(t *testing.T) {
	t.Parallel()
	pgdata := t.TempDir()
	if err := OfferCopied(pgdata); err != nil {
		t.Errorf("without marks: %v", err)
	}
	logOf(t, pgdata, nil, []string{"00000002.history.done", "000000020000000000000003.done",
		"000000020000000000000004.ready"})
	if err := OfferCopied(pgdata); err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(pgdata, "pg_wal", "archive_status", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	if want := []string{"00000002.history.ready", "000000020000000000000004.ready"}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
