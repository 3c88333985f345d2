// Package stream carries the replication of a database from agent to agent. A replica's server connects to a socket
// that its own agent listens on; the agent passes the bytes through the network of the group to the agent of the
// primary, which passes them to its server. So a replica needs no password of the primary. Nothing passes but to a
// primary of the very generation that the replica follows, and an agent that cuts its end knows that nothing comes any
// more.
package stream
