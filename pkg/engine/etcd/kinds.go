package etcd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is what values an option takes.
type kind struct {
	name, allowed string
	// fits reports whether etcd starts with the value.
	fits func(string) bool
}

func text() kind {
	return kind{name: "text", allowed: "any", fits: func(string) bool { return true }}
}

func boolean() kind {
	return kind{name: "boolean", allowed: "true or false", fits: func(s string) bool {
		_, err := strconv.ParseBool(s)
		return err == nil
	}}
}

func duration() kind {
	return kind{name: "duration", allowed: "a time such as 500ms, 30s or 1h", fits: func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && d >= 0
	}}
}

func integer(least, most int64) kind {
	return kind{name: "integer", allowed: fmt.Sprintf("%d to %d", least, most), fits: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n >= least && n <= most
	}}
}

func atLeast(least int64) kind {
	k := integer(least, 1<<31-1)
	k.allowed = fmt.Sprintf("%d or more", least)
	return k
}

func byteCount() kind {
	return kind{name: "bytes", allowed: "a number of bytes, 1 or more", fits: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n > 0
	}}
}

func oneOf(values ...string) kind {
	return kind{name: "enum", allowed: strings.Join(values, ", "), fits: func(s string) bool { return slices.Contains(values, s) }}
}

// retention is a duration, or a number: of hours, or of revisions.
func retention() kind {
	return kind{name: "retention", allowed: "a time such as 30m (mode periodic) or a number of revisions (mode revision); 0 for never",
		fits: func(s string) bool { return duration().fits(s) || atLeast(0).fits(s) }}
}
