package logfile

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Most is how many bytes a file holds: the next one begins there.
const Most = 16 << 20

// openName is the file that is being written. A crash makes it worthless.
const openName = "open"

// File is one that is complete.
type File struct {
	Name
	// Start is where it begins.
	Start uint64
	// Time is that of its last mark; zero if it has none.
	Time time.Time
	// Bytes is its size, Since when it was completed.
	Bytes int64
	Since time.Time
}

func (f File) onDisk() string {
	micros := int64(0)
	if !f.Time.IsZero() {
		micros = f.Time.UnixMicro()
	}
	return f.String() + "-" + Place(f.Start) + "-" + strconv.FormatInt(micros, 10)
}

// parseFile reads the name of a file on disk.
func parseFile(text string) (f File, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 4 {
		return f, false
	}
	f.Name, ok = ParseName(parts[0] + "-" + parts[1])
	start, valid := ParsePlace(parts[2])
	micros, err := strconv.ParseInt(parts[3], 10, 64)
	if f.Start = start; micros > 0 {
		f.Time = time.UnixMicro(micros).UTC()
	}
	return f, ok && valid && err == nil
}

// Buffer keeps files in a directory until they are archived. It is bounded: the oldest go first. One goroutine writes.
type Buffer struct {
	directory string
	most      int64

	mu    sync.Mutex
	files []File
	lost  int

	out     *os.File
	writer  *bufio.Writer
	history string
	start   uint64
	end     uint64
	last    time.Time
}

// Open reads what is in the directory; most bounds how many bytes are kept.
func Open(directory string, most int64) (*Buffer, error) {
	b := &Buffer{directory: directory, most: most}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("keep files of the log: %w", err)
	}
	if err := os.Remove(b.path(openName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep files of the log: %w", err)
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("keep files of the log: %w", err)
	}
	for _, e := range entries {
		f, ok := parseFile(e.Name())
		info, err := e.Info()
		if !ok || err != nil {
			continue
		}
		f.Bytes, f.Since = info.Size(), info.ModTime()
		b.files = append(b.files, f)
	}
	slices.SortFunc(b.files, func(x, y File) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.End, y.End))
	})
	return b, nil
}

func (b *Buffer) path(name string) string { return filepath.Join(b.directory, name) }

// Begin begins a file at a place. What another one holds that was not completed is lost.
func (b *Buffer) Begin(history string, at uint64) error {
	b.Discard()
	f, err := os.OpenFile(b.path(openName), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("begin a file of the log: %w", err)
	}
	b.out, b.writer, b.history, b.start, b.end, b.last = f, bufio.NewWriterSize(f, 64<<10), history, at, at, time.Time{}
	return nil
}

// Writing says that a file was started.
func (b *Buffer) Writing() bool { return b.out != nil }

// Room is how many bytes the file takes before it has to be completed.
func (b *Buffer) Room() int { return Most - int(b.end-b.start) } //nolint:gosec // a file is bounded

// Write adds to the file that was started.
func (b *Buffer) Write(p []byte) (int, error) {
	n, err := b.writer.Write(p)
	b.end += uint64(n) //nolint:gosec // it is positive
	if err != nil {
		return n, fmt.Errorf("write a file of the log: %w", err)
	}
	return n, nil
}

// Mark says that a mark was written.
func (b *Buffer) Mark(at time.Time) { b.last = at }

// Discard drops the file that was started.
func (b *Buffer) Discard() {
	if b.out != nil {
		_ = b.out.Close() // it is of no use any more
		b.out = nil
	}
}

// Complete completes the file that was started. One without a byte is none.
func (b *Buffer) Complete() error {
	if b.out == nil || b.end == b.start {
		b.Discard()
		return nil
	}
	size := int64(b.end - b.start) //nolint:gosec // a file is bounded
	f := File{Name: Name{b.history, b.end}, Start: b.start, Time: b.last, Bytes: size, Since: time.Now()}
	err := errors.Join(b.writer.Flush(), b.out.Sync(), b.out.Close())
	b.out = nil
	if err == nil {
		err = os.Rename(b.path(openName), b.path(f.onDisk()))
	}
	if err != nil {
		return fmt.Errorf("complete a file of the log: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = append(b.files, f)
	return b.shrink()
}

// shrink lets the oldest files go, under the lock.
func (b *Buffer) shrink() error {
	total := int64(0)
	for _, f := range b.files {
		total += f.Bytes
	}
	for total > b.most && len(b.files) > 1 {
		if err := b.remove(0); err != nil {
			return err
		}
		total -= b.files[0].Bytes
		b.files = b.files[1:]
		b.lost++
	}
	return nil
}

func (b *Buffer) remove(i int) error {
	if err := os.Remove(b.path(b.files[i].onDisk())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("let a file of the log go: %w", err)
	}
	return nil
}

// Files are those that are complete, oldest first; lost is how many went before they were archived.
func (b *Buffer) Files() (files []File, lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.files), b.lost
}

// Keep lets the files go that are not wanted.
func (b *Buffer) Keep(wanted func(File) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := 0; i < len(b.files); {
		if wanted(b.files[i]) {
			i++
			continue
		}
		if err := b.remove(i); err != nil {
			return err
		}
		b.files = slices.Delete(b.files, i, i+1)
	}
	return nil
}

// Read returns a file and its content, and false if it is not there.
func (b *Buffer) Read(name string) (f File, body []byte, found bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.files, func(f File) bool { return f.String() == name })
	if i < 0 {
		return f, nil, false, nil
	}
	body, err = os.ReadFile(b.path(b.files[i].onDisk()))
	if err != nil {
		err = fmt.Errorf("read a file of the log: %w", err)
	}
	return b.files[i], body, true, err
}

// Sum says whether the SHA-256 of a content begins so.
func Sum(body []byte, sum string) bool {
	digest := sha256.Sum256(body)
	return len(sum) >= 32 && strings.HasPrefix(hex.EncodeToString(digest[:]), sum)
}

// ErrOther says that an archive has other bytes.
var ErrOther = errors.New("the archive has other bytes")

// Confirm lets a file go whose SHA-256 begins so: ErrOther if it doesn't. One that is not there was let go before.
func (b *Buffer) Confirm(name, sum string) error {
	_, body, found, err := b.Read(name)
	if err != nil || !found {
		return err
	}
	if !Sum(body, sum) {
		return ErrOther
	}
	return b.Keep(func(f File) bool { return f.String() != name })
}
