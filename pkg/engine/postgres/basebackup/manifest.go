package basebackup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strings"
)

// mostLine is how long a line of a manifest may be. A path has at most a kilobyte, and each byte two digits.
const mostLine = 16 << 10

// checksumLine begins the last line, which holds the checksum of all before it.
const checksumLine = `"Manifest-Checksum":`

// listed is a file as the manifest lists it.
type listed struct {
	Path      string `json:"Path"`
	Encoded   string `json:"Encoded-Path"` //nolint:tagliatelle // the server's name
	Size      int64  `json:"Size"`
	Algorithm string `json:"Checksum-Algorithm"` //nolint:tagliatelle // the server's name
	Checksum  string `json:"Checksum"`
	Modified  string `json:"Last-Modified"` //nolint:tagliatelle // the server's name
}

// logRange is a part of the log without which the backup can't be recovered.
type logRange struct {
	Timeline uint64 `json:"Timeline"`
	Start    string `json:"Start-LSN"` //nolint:tagliatelle // the server's name
	End      string `json:"End-LSN"`   //nolint:tagliatelle // the server's name
}

// manifest reads a manifest while it passes, line by line: that is how the server writes it, and it may list a million
// files.
type manifest struct {
	// file takes each file that is listed.
	file func(listed) error

	version int
	// system is the identifier of the database, "" if the manifest does not say.
	system string
	ranges []logRange
	// checksum is that of the manifest, once its last lines were read.
	checksum string

	sum  hash.Hash
	line []byte
}

func newManifest(file func(listed) error) *manifest { return &manifest{file: file, sum: sha256.New()} }

// Write takes the next bytes.
func (m *manifest) Write(p []byte) (int, error) {
	whole := len(p)
	for len(p) > 0 {
		before, after, found := bytes.Cut(p, []byte{'\n'})
		if m.line = append(m.line, before...); len(m.line) > mostLine {
			return 0, bad("a line of the manifest has more than %d bytes", mostLine)
		}
		if !found {
			break
		}
		p = after
		if err := m.read(m.line); err != nil {
			return 0, err
		}
		m.line = m.line[:0]
	}
	return whole, nil
}

// read takes one line. What it does not know is refused: a new version may mean something else by it.
func (m *manifest) read(line []byte) error {
	text := strings.TrimSpace(string(line))
	if m.checksum != "" {
		return bad("something follows the checksum of the manifest")
	}
	if after, last := strings.CutPrefix(text, checksumLine); last {
		return m.finish(strings.TrimSuffix(after, "}"))
	}
	m.sum.Write(line)
	m.sum.Write([]byte{'\n'})
	text = strings.TrimSuffix(text, ",")
	name, value, _ := strings.Cut(strings.TrimPrefix(text, "{ "), ":")
	switch {
	case text == `"Files": [` || text == `"WAL-Ranges": [` || text == "]" || text == "":
		return nil
	case name == `"PostgreSQL-Backup-Manifest-Version"`:
		return take(value, &m.version)
	case name == `"System-Identifier"`:
		var number json.Number
		err := take(value, &number)
		m.system = number.String()
		return err
	case name == `"Path"` || name == `"Encoded-Path"`:
		return m.list(text)
	case name == `"Timeline"`:
		var r logRange
		err := take(text, &r)
		m.ranges = append(m.ranges, r)
		return err
	}
	return bad("the manifest has a line that is not known: %.100q", text)
}

func (m *manifest) list(text string) error {
	var f listed
	if err := take(text, &f); err != nil {
		return err
	}
	if f.Encoded != "" {
		raw, err := hex.DecodeString(f.Encoded)
		if err != nil {
			return bad("the manifest has a path that can't be read: %.100q", f.Encoded)
		}
		f.Path = string(raw)
	}
	return m.file(f)
}

func (m *manifest) finish(text string) error {
	var want string
	if err := take(text, &want); err != nil {
		return err
	}
	if m.checksum = hex.EncodeToString(m.sum.Sum(nil)); m.checksum != want {
		return bad("the checksum of the manifest is %s, not %s", m.checksum, want)
	}
	return nil
}

func take(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return bad("the manifest can't be read: %.100q: %v", text, err)
	}
	return nil
}
