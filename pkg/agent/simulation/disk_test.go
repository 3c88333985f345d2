package simulation

import "github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"

type row struct{ id, timeline uint64 }

// disk is what survives a crash.
type disk struct {
	term     uint64
	log      []record
	start    uint64
	floor    protocol.Generation
	document protocol.Document
	// snapshot is the index of the document.
	snapshot int
	// remembered is a document that was agreed on: as old as that, or newer, or nil.
	remembered *protocol.Document
	seen       []seen

	system, volume string
	copiedIn       protocol.Generation
	rows           []row
	unfit          string
	// unread says that the server crashed and its log was not read to its end since.
	unread bool
}
