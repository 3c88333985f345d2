package basebackup

// Check sees the bytes of a base backup, and says in the end whether it is whole.
type Check struct {
	archive  archive
	contents *contents
}

// NewCheck returns a check that has seen nothing yet.
func NewCheck() *Check {
	c := newContents()
	return &Check{archive: archive{visitor: c}, contents: c}
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
	return c.contents.complete()
}
