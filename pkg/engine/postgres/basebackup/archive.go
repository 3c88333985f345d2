// Package basebackup reads base backups of PostgreSQL: one archive as pg_basebackup writes it to its output, with the
// log that belongs to it and the manifest at its end. It needs no file and no server, and little memory.
package basebackup

// visitor takes what an archive holds, in order.
type visitor interface {
	begin(e entry) error
	data(p []byte) error
	end() error
}

// archive takes the bytes of an archive and hands its entries to a visitor.
type archive struct {
	visitor visitor
	// next, if set, is called once when another archive follows. It returns the visitor of that.
	next func() (visitor, error)
	// at is how many bytes were taken.
	at int64

	header [blockSize]byte
	filled int
	// left are bytes of the present entry, padding those behind it.
	left, padding int64
	// ends counts blocks of zeros: two end an archive.
	ends int
	err  error
}

// Write takes the next bytes. After an error nothing more is read.
func (a *archive) Write(p []byte) (int, error) {
	whole := len(p)
	for len(p) > 0 && a.err == nil {
		var n int
		if n, a.err = a.take(p); a.err == nil {
			p = p[n:]
		}
	}
	return whole - len(p), a.err
}

func (a *archive) take(p []byte) (int, error) {
	switch {
	case a.left > 0:
		n := min(a.left, int64(len(p)))
		if err := a.visitor.data(p[:n]); err != nil {
			return 0, err
		}
		a.at += n
		if a.left -= n; a.left == 0 {
			return int(n), a.visitor.end()
		}
		return int(n), nil
	case a.padding > 0:
		n := min(a.padding, int64(len(p)))
		a.padding -= n
		a.at += n
		return int(n), nil
	}
	n := copy(a.header[a.filled:], p)
	a.at += int64(n)
	if a.filled += n; a.filled < blockSize {
		return n, nil
	}
	a.filled = 0
	return n, a.open()
}

// open reads the header that is there.
func (a *archive) open() error {
	if a.header == [blockSize]byte{} {
		a.ends++
		return nil
	}
	if a.ends > 0 {
		if err := a.follow(); err != nil {
			return err
		}
	}
	e, err := parseHeader(&a.header)
	if err != nil {
		return err
	}
	a.left, a.padding = e.size, e.padding()
	if err := a.visitor.begin(e); err != nil {
		return err
	}
	if e.size == 0 {
		return a.visitor.end()
	}
	return nil
}

// follow begins the archive behind an end.
func (a *archive) follow() (err error) {
	if a.next == nil || a.ends < 2 {
		return bad("something follows the end of the archive")
	}
	if a.visitor, err = a.next(); err != nil {
		return err
	}
	a.next, a.ends = nil, 0
	return nil
}

// close fails unless the archive was whole.
func (a *archive) close() error {
	switch {
	case a.err != nil:
		return a.err
	case a.ends < 2 || a.filled > 0:
		return bad("the archive ends too early")
	}
	return nil
}
