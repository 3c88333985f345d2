package basebackup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// file is one of an archive.
type file struct {
	name, content string
	kind          byte
}

// backup is an archive as a test makes it: what differs from a sound one is changed before it is written.
type backup struct {
	files []file
	// listed are those of the manifest; those of the archive unless set.
	listed   []file
	manifest func(string) string
}

const segmentSize = 1 << 20

// sound is a small database with two files of the log.
func sound() *backup {
	var control [512]byte
	binary.LittleEndian.PutUint64(control[:], 7711)
	return &backup{files: []file{
		{"backup_label", "START WAL LOCATION: 0/200028 (file 000000030000000000000002)\nSTART TIMELINE: 3\n", tar.TypeReg},
		{"tablespace_map", "", tar.TypeReg},
		{"pg_wal/", "", tar.TypeDir},
		{"./pg_wal/archive_status/", "", tar.TypeDir},
		{"base/", "", tar.TypeDir},
		{"base/1/", "", tar.TypeDir},
		{"PG_VERSION", "17\n", tar.TypeReg},
		{"base/1/1255", strings.Repeat("page", 5000), tar.TypeReg},
		{"base/1/\xff", "odd", tar.TypeReg},
		{"global/", "", tar.TypeDir},
		{"global/pg_control", string(control[:]), tar.TypeReg},
		{"pg_wal/000000030000000000000002", strings.Repeat("l", segmentSize), tar.TypeReg},
		{"pg_wal/000000030000000000000003", strings.Repeat("m", segmentSize), tar.TypeReg},
		{"pg_wal/00000003.history", "1\t0/100000\n2\t0/180000\n", tar.TypeReg},
	}}
}

// replace changes the content of a file in the archive alone.
func (b *backup) replace(name, content string) {
	if b.listed == nil {
		b.listed = append(b.listed, b.files...)
	}
	for i := range b.files {
		if b.files[i].name == name {
			b.files[i].content = content
		}
	}
}

// drop takes a file out of the archive alone.
func (b *backup) drop(name string) {
	if b.listed == nil {
		b.listed = append(b.listed, b.files...)
	}
	for i := range b.files {
		if b.files[i].name == name {
			b.files = append(b.files[:i:i], b.files[i+1:]...)
			return
		}
	}
}

// text is the manifest as the server writes it.
func (b *backup) text() string {
	listed := b.listed
	if listed == nil {
		listed = b.files
	}
	var lines []string
	for _, f := range listed {
		name := strings.TrimPrefix(f.name, "./")
		if f.kind != tar.TypeReg || len(strings.TrimPrefix(name, logDirectory)) == 24 {
			continue
		}
		path := fmt.Sprintf("%q: %q", "Path", name)
		if strings.Contains(name, "\xff") {
			path = fmt.Sprintf("%q: %q", "Encoded-Path", hex.EncodeToString([]byte(name)))
		}
		lines = append(lines, fmt.Sprintf(`{ %s, "Size": %d, "Last-Modified": "2026-11-23 14:43:38 GMT", `+
			`"Checksum-Algorithm": "SHA256", "Checksum": "%x" }`, path, len(f.content), sha256.Sum256([]byte(f.content))))
	}
	text := "{ \"PostgreSQL-Backup-Manifest-Version\": 2,\n\"System-Identifier\": 7711,\n\"Files\": [\n" +
		strings.Join(lines, ",\n") + "\n],\n\"WAL-Ranges\": [\n" +
		"{ \"Timeline\": 3, \"Start-LSN\": \"0/200028\", \"End-LSN\": \"0/300100\" }\n],\n"
	if b.manifest != nil {
		text = b.manifest(text)
	}
	return text + fmt.Sprintf("\"Manifest-Checksum\": \"%x\"}\n", sha256.Sum256([]byte(text)))
}

// bytes is the archive.
func (b *backup) bytes(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	all := append(slices.Clip(b.files), file{manifestName, b.text(), tar.TypeReg})
	for _, f := range all {
		header := &tar.Header{Name: f.name, Size: int64(len(f.content)), Typeflag: f.kind, Mode: 0o600,
			Format: tar.FormatUSTAR}
		if f.kind == tar.TypeSymlink {
			header.Linkname, header.Size = f.content, 0
		}
		if strings.Contains(f.name, "\xff") {
			header.Format = tar.FormatGNU
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := w.Write([]byte(f.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// facts are those of the sound backup.
func facts(b *backup) Facts {
	text := b.text()
	return Facts{System: "7711", Major: "17", Start: 0x200028, End: 0x300100, Timeline: 3, First: 3,
		LogFile: "000000030000000000000002", Files: 7,
		Bytes: 20000 + 3 + 3 + 512 + 22 + int64(len(b.files[0].content)), Manifest: text[len(text)-67 : len(text)-3]}
}
