package protocol

// BeginSource has a serving cluster follow a database that holds all that the cluster holds, and more: the one that
// closed it by a cut over. Nothing is copied. The primary ends its generation, and the next one lets no client in until
// EndSource.
type BeginSource struct {
	Source Source `json:"source"`
	// Generation is that of the primary which checked that it can be followed so.
	Generation Generation `json:"generation"`
}

// Kind names the entry.
func (*BeginSource) Kind() string { return "beginSource" }

func (e *BeginSource) apply(d *Document) error {
	switch {
	case d.Source != nil:
		return refuse("the cluster follows %s", d.Source.Address)
	case e.Source.Address == "":
		return refuse("the source has no address")
	case d.Phase != Serving:
		return refuse("there is no primary now")
	case e.Generation != d.Generation:
		return refuse("the primary of generation %d is none any more", e.Generation)
	}
	from := e.Source
	from.Kept = true
	d.Source = &from
	return nil
}

// begins says that the primary took clients before the cluster was to follow a source: the next one takes none. One
// that is being promoted does not follow yet.
func (n *Node) begins() bool {
	return n.doc.Source != nil && n.doc.Source.Kept && !n.server.Following && n.job.Kind == ""
}
