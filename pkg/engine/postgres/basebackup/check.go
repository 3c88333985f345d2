package basebackup

// Check sees the bytes of a base backup, and says in the end whether it is whole. Of one that holds changes the backup
// may follow that it adds to.
type Check struct {
	archive archive
	// parts are the backup, and the one that it adds to.
	parts []*contents
}

// NewCheck returns a check that has seen nothing yet.
func NewCheck() *Check {
	first := newContents()
	c := &Check{archive: archive{visitor: first}, parts: []*contents{first}}
	c.archive.next = func() (visitor, error) {
		f, err := first.complete()
		if err == nil && !f.Incremental() {
			err = bad("something follows the end of the archive")
		}
		second := newContents()
		c.parts = append(c.parts, second)
		return second, err
	}
	return c
}

// Write takes the next bytes. It fails as soon as they can't be part of a backup.
func (c *Check) Write(p []byte) (int, error) { return c.archive.Write(p) }

// Close fails with engine.ErrNotSnapshot, wrapped, unless all was there and every file is as the manifest says.
func (c *Check) Close() error {
	_, err := c.Facts()
	return err
}

// Facts are those of the whole backup.
func (c *Check) Facts() (Facts, error) {
	if err := c.archive.close(); err != nil {
		return Facts{}, err
	}
	f, err := c.parts[0].complete()
	if err != nil || len(c.parts) == 1 {
		return f, err
	}
	full, err := c.parts[1].complete()
	if err != nil {
		return Facts{}, err
	}
	return f, f.addsTo(full)
}
