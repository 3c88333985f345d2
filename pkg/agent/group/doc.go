// Package group is the Raft group of the agents of one database cluster: hashicorp/raft with its stores and its
// transport wrapped, so that a hanging or full disk, a member of another incarnation and a volume that was rolled back
// do no harm. What the group agrees on goes to the protocol as events, in order.
package group
