package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what values an option takes.
type Kind struct {
	Name, Allowed string
	// Fits reports whether etcd starts with the value.
	Fits func(string) bool
}

func text() Kind {
	return Kind{Name: "text", Allowed: "any", Fits: func(string) bool { return true }}
}

func boolean() Kind {
	return Kind{Name: "boolean", Allowed: "true or false", Fits: func(s string) bool {
		_, err := strconv.ParseBool(s)
		return err == nil
	}}
}

func duration() Kind {
	return Kind{Name: "duration", Allowed: "a time such as 500ms, 30s or 1h", Fits: func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && d >= 0
	}}
}

func integer(least, most int64) Kind {
	return Kind{Name: "integer", Allowed: fmt.Sprintf("%d to %d", least, most), Fits: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n >= least && n <= most
	}}
}

func atLeast(least int64) Kind {
	k := integer(least, 1<<31-1)
	k.Allowed = fmt.Sprintf("%d or more", least)
	return k
}

func byteCount() Kind {
	return Kind{Name: "bytes", Allowed: "a number of bytes, 1 or more", Fits: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n > 0
	}}
}

func oneOf(values ...string) Kind {
	return Kind{Name: "enum", Allowed: strings.Join(values, ", "),
		Fits: func(s string) bool { return slices.Contains(values, s) }}
}

// retention is a duration, or a number: of hours, or of revisions.
func retention() Kind {
	return Kind{Name: "retention",
		Allowed: "a time such as 30m (mode periodic) or a number of revisions (mode revision); 0 for never",
		Fits:    func(s string) bool { return duration().Fits(s) || atLeast(0).Fits(s) }}
}
