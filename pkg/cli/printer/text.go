package printer

import (
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// OneLine keeps what others wrote over several lines, or with control
// characters, from breaking the format.
func OneLine(s string) string { return ops.Printable(strings.Join(strings.Fields(s), " ")) }

func OrNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return OneLine(strings.Join(items, ", "))
}

func OrUnknown(s string) string {
	if s == "" {
		return Unknown
	}
	return s
}
