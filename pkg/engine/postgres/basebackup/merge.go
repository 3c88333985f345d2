package basebackup

import (
	"fmt"
	"io"
)

// merge takes a file as it was, and writes the one that it has become: the blocks that changed, of the others those
// that are to be kept, and zeros where there is neither. So does pg_combinebackup.
type merge struct {
	changes

	// from holds the blocks that changed.
	from io.ReaderAt
	to   io.Writer
	// next is the number of the block that is written next, used how many changed blocks were.
	next uint32
	used int
	// part is the beginning of the block that is being taken.
	part []byte
}

// Write takes the next bytes of the file as it was.
func (m *merge) Write(p []byte) (int, error) {
	whole := len(p)
	for len(p) > 0 {
		if len(m.part) > 0 || len(p) < pageSize {
			n := min(pageSize-len(m.part), len(p))
			m.part, p = append(m.part, p[:n]...), p[n:]
			if len(m.part) < pageSize {
				break
			}
			if err := m.take(m.part); err != nil {
				return 0, err
			}
			m.part = m.part[:0]
			continue
		}
		n := len(p) / pageSize * pageSize
		if err := m.take(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
	}
	return whole, nil
}

// take takes whole blocks.
func (m *merge) take(p []byte) error {
	for len(p) > 0 && m.next < m.length {
		if m.changed() || m.next >= m.keep {
			if err := m.write(); err != nil {
				return err
			}
			p = p[pageSize:]
			continue
		}
		end := m.keep
		if m.used < len(m.blocks) {
			end = min(end, m.blocks[m.used])
		}
		n := min(int64(end-m.next)*pageSize, int64(len(p)))
		if _, err := m.to.Write(p[:n]); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
		m.next += uint32(n / pageSize) //nolint:gosec // it is at most the number of a block
		p = p[n:]
	}
	return nil
}

// changed reports whether the next block is one that changed.
func (m *merge) changed() bool { return m.used < len(m.blocks) && m.blocks[m.used] == m.next }

// write writes the next block, which is not one of before.
func (m *merge) write() error {
	var page [pageSize]byte
	if m.changed() {
		if _, err := m.from.ReadAt(page[:], m.data+int64(m.used)*pageSize); err != nil {
			return fmt.Errorf("read block %d: %w", m.next, err)
		}
		m.used++
	}
	m.next++
	if _, err := m.to.Write(page[:]); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	return nil
}

// end writes what follows the end of the file as it was. Less than a block there is none, as for the server.
func (m *merge) end() error {
	for m.next < m.length {
		if err := m.write(); err != nil {
			return err
		}
	}
	return nil
}
