package disk

import "os"

// writebackEach is how many bytes are handed to the disk at once.
const writebackEach = 8 << 20

// Writer writes a file from its beginning, and has the disk take it meanwhile: a Sync at the end, of this file or of
// what is made of it, then finds little left. It makes nothing durable.
type Writer struct {
	File *os.File

	written, handed int64
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	w.written += int64(n)
	if w.written-w.handed >= writebackEach {
		Writeback(w.File, w.handed, w.written-w.handed)
		w.handed = w.written
	}
	return n, err
}
