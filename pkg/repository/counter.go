package repository

import "io"

// Counter counts the bytes that pass. Report, if set, hears the total after
// every read or write, from the goroutine that made it; it should be quick.
type Counter struct {
	Report func(total int64)
	total  int64
}

// Reader counts what is read from r.
func (c *Counter) Reader(r io.Reader) io.Reader { return countedReader{r, c} }

// Writer counts what w accepted.
func (c *Counter) Writer(w io.Writer) io.Writer { return countedWriter{w, c} }

// Total is for the goroutine that reads or writes.
func (c *Counter) Total() int64 { return c.total }

func (c *Counter) add(n int) {
	c.total += int64(n)
	if c.Report != nil && n > 0 {
		c.Report(c.total)
	}
}

type countedReader struct {
	io.Reader
	counter *Counter
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.counter.add(n)
	return n, err
}

type countedWriter struct {
	io.Writer
	counter *Counter
}

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.counter.add(n)
	return n, err
}
