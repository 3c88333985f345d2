// Package protocol decides, for the agents of one database cluster, which member is the primary, and keeps two
// primaries from accepting writes at the same time. It is a pure state machine: it has no clock, no I/O and no
// goroutine.
//
// The agents of a cluster form a Raft group. All of them hold one Document, and only entries that the group agreed on
// change it (Document.Apply). Node is the part of one agent: it takes events with the time at which they happened and
// returns effects. It compares no clocks of two machines.
//
// A member is the primary of one generation. It may accept writes while a renewal of its lease is agreed, until
// Lease - Stop after it sent that renewal. A following generation begins by a Seal, which is agreed after the primary
// released the lease or the lease is over. Replicas that hear of the seal cut their upstream and then report their
// position; the leader of the group appoints one of them.
package protocol
