package printer

import (
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Itoa writes a number in decimal.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// OneLine keeps what others wrote over several lines, or with control
// characters, from breaking the format.
func OneLine(s string) string { return ops.Printable(strings.Join(strings.Fields(s), " ")) }

// OrNone is a list in one line, "none" for an empty one.
func OrNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return OneLine(strings.Join(items, ", "))
}

// OrUnknown is the text, Unknown for none.
func OrUnknown(s string) string {
	if s == "" {
		return Unknown
	}
	return s
}
