package protocol

// read has a server that does not run serve readers, where the group agrees on nothing for longer than a lease and an
// election take. Most of it may be lost: then this may be the only copy, and nobody can be the primary.
func (n *Node) read() bool {
	d, t := &n.doc, n.doc.Settings.Timing
	if n.server.Role != Stopped || n.server.Volume == "" || n.server.System != d.System || n.retiring ||
		n.job.Kind != "" && n.job.Kind != Read || n.Leased(d.Generation, n.now) ||
		n.now.Sub(n.agreedAt) < t.Lease+t.ElectionBound {
		return false
	}
	n.do(Job{Kind: Read})
	return true
}

// free says that no job is at work but one for readers, which gives way.
func (n *Node) free() bool { return n.job.Kind == "" || n.job.Kind == Read }
