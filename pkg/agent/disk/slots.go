package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
)

// slot is the least room for one content. Two slots share no block of a file system.
const slot = 4 << 10

// header is what a slot holds before its content: a number, the length of the content, and a checksum of all of these.
const header = 16

// Slots is a small file that is written in place, so that a full disk has room for it. It keeps
// the content before the last one as well, and holds that after a crash in the middle of a write.
type Slots struct {
	path string
	// number is that of the content which counts, and held the slot that it lies in.
	number uint64
	held   int64
}

// OpenSlots reads the file at a path into content, and says whether there was one. Where there is none, it reads what
// Replace wrote to the same path with ".json".
func OpenSlots(path string, content any) (Slots, bool, error) {
	s := Slots{path: path}
	raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
	if errors.Is(err, fs.ErrNotExist) {
		there, err := Read(path+".json", content)
		return s, there, err
	}
	if err != nil {
		return s, false, fmt.Errorf("read %s: %w", path, err)
	}
	half := len(raw) / 2
	number, body := readSlot(raw[:half])
	if n, b := readSlot(raw[half:]); n > number {
		number, body, s.held = n, b, 1
	}
	if number == 0 {
		return s, false, fmt.Errorf("read %s: neither of its two contents is whole", path)
	}
	s.number = number
	if err := json.Unmarshal(body, content); err != nil {
		return s, false, fmt.Errorf("read %s: %w", path, err)
	}
	return s, true, nil
}

// RemoveSlots removes what OpenSlots would read. There may be nothing.
func RemoveSlots(path string) error {
	for _, p := range []string{path, path + ".json"} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readSlot returns number and content of a slot; the number is 0 if it was not written as a whole.
func readSlot(raw []byte) (uint64, []byte) {
	if len(raw) < header {
		return 0, nil
	}
	length := int64(binary.BigEndian.Uint32(raw[8:]))
	if length > int64(len(raw)-header) {
		return 0, nil
	}
	body := raw[header : header+length]
	if sum(raw[:12], body) != binary.BigEndian.Uint32(raw[12:]) {
		return 0, nil
	}
	return binary.BigEndian.Uint64(raw), body
}

func sum(head, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(head, table), table, body)
}

// Write writes content as JSON. It takes room only the first time, and when content has grown beyond its slot. After an
// error the former content counts, in this process.
func (s *Slots) Write(content any) error {
	body, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	raw := binary.BigEndian.AppendUint64(nil, s.number+1)
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(body))) //nolint:gosec // it is small
	raw = append(binary.BigEndian.AppendUint32(raw, sum(raw, body)), body...)
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() < int64(2*len(raw)):
		err = s.make(raw)
	case err == nil:
		err = s.put(raw, 1-s.held, info.Size()/2)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	s.number++
	return nil
}

// make makes a file with room for a first content, and takes away the one that OpenSlots read instead.
func (s *Slots) make(raw []byte) error {
	size := slot
	for size < len(raw) {
		size *= 2
	}
	if err := ReplaceBytes(s.path, append(bytes.Clone(raw), make([]byte, 2*size-len(raw))...)); err != nil {
		return err
	}
	s.held = 0
	if err := os.Remove(s.path + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *Slots) put(raw []byte, into, size int64) error {
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(raw, into*size)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		s.held = into
	}
	return err
}
