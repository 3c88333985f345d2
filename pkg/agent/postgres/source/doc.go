// Package source knows the server outside of a cluster whose data the cluster copies and follows by logical
// replication: how it is reached, whether it can be followed, and how writes there end for good.
package source
