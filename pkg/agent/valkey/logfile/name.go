// Package logfile holds the files into which the replication stream of Valkey or Redis is cut for an archive.
//
// A history is what the servers call by a replication ID: one primary wrote it, from its promotion on. A place in it is
// the offset that the servers count. A file holds all bytes between two places of one history.
package logfile

import (
	"fmt"
	"strconv"
	"strings"
)

// historyDigits of a replication ID are enough to tell those of one cluster apart.
const historyDigits = 16

// History shortens a replication ID; "" stays as it is.
func History(id string) string { return id[:min(len(id), historyDigits)] }

// Name names a file by its history and its end, so that files which begin alike and end at different places have
// different names. Names of a history sort by their end.
type Name struct {
	History string
	End     uint64
}

// String writes the name.
func (n Name) String() string { return n.History + "-" + Place(n.End) }

// Place writes an offset.
func Place(at uint64) string { return fmt.Sprintf("%016x", at) }

// ParsePlace reads an offset.
func ParsePlace(text string) (uint64, bool) {
	at, err := strconv.ParseUint(text, 16, 63)
	return at, err == nil && len(text) == historyDigits
}

// ParseName reads a name.
func ParseName(text string) (n Name, ok bool) {
	history, end, found := strings.Cut(text, "-")
	at, valid := ParsePlace(end)
	if !found || !valid || !isHistory(history) {
		return Name{}, false
	}
	return Name{History: history, End: at}, true
}

func isHistory(text string) bool {
	_, err := strconv.ParseUint(text, 16, 64)
	return err == nil && len(text) == historyDigits
}
