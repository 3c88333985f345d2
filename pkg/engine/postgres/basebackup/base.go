package basebackup

import "bytes"

// Base sees the bytes of a base backup, and keeps its manifest: by that a server knows what changed since.
type Base struct {
	archive archive
	taken   manifestTaker
}

// NewBase returns one that has seen nothing yet, and keeps at most so many bytes.
func NewBase(most int64) *Base {
	b := &Base{taken: manifestTaker{most: most}}
	b.archive.visitor = &b.taken
	return b
}

// Write takes the next bytes. It never fails: a Check says what is wrong with them.
func (b *Base) Write(p []byte) (int, error) {
	_, _ = b.archive.Write(p) // Content asks for it
	return len(p), nil
}

// Content is the manifest; nil if it was not there, or too large.
func (b *Base) Content() []byte {
	if b.archive.close() != nil || !b.taken.whole {
		return nil
	}
	return b.taken.content.Bytes()
}

// manifestTaker is the visitor that keeps the manifest alone.
type manifestTaker struct {
	most    int64
	taking  bool
	whole   bool
	content bytes.Buffer
}

func (m *manifestTaker) begin(e entry) error {
	m.taking = e.name == manifestName && e.size <= m.most
	return nil
}

func (m *manifestTaker) data(p []byte) error {
	if m.taking {
		m.content.Write(p)
	}
	return nil
}

func (m *manifestTaker) end() error {
	m.whole = m.whole || m.taking
	m.taking = false
	return nil
}
