// Package command is what all commands share: the flags, how a cluster is found,
// how a change is planned, confirmed, performed and reported, and completion.
package command
