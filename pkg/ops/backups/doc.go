// Package backups holds what operations share about backups: the one that is taken first, where it goes, and which are
// kept.
package backups
