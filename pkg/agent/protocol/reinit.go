package protocol

// MayReinit returns why the copy of the data of this member may not be removed and made again, or nil. The present
// primary must serve: it holds all that was acknowledged.
func (n *Node) MayReinit(now Instant) error {
	d, s := &n.doc, &n.server
	told := n.received[d.Primary]
	m, known := d.Members[n.id]
	switch {
	case !known || m.Witness || s.Volume == "":
		return refuse("%s holds no copy of the data", n.id)
	case d.Primary == n.id:
		return refuse("%s is, or was, the primary: its copy may be the last one", n.id)
	case s.System != "" && s.System != d.System:
		return refuse("the data of %s is another database: %s", n.id, s.System)
	case s.Unfit == "":
		return refuse("the copy of %s can follow the primary: nothing is made again", n.id)
	case d.Phase != Serving || told.Role != Primary || told.Generation != d.Generation || now.Sub(told.at) >= toldTime:
		return refuse("no primary serves, as far as %s knows: its copy may be the last one", n.id)
	}
	return nil
}

// reinitialise removes the copy of the data if that was asked for and still may be done. Then it is cloned. Nobody has
// to ask where nothing can be lost: the data is broken, and the primary holds all that was acknowledged.
func (n *Node) reinitialise() bool {
	if !n.reinit && !n.server.Broken || n.server.Volume == "" || n.server.Unfit == "" {
		n.reinit = false
		return false
	}
	if n.MayReinit(n.now) != nil {
		return false
	}
	n.do(Job{Kind: Discard})
	return true
}
