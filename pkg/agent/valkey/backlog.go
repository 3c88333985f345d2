//go:build linux

package valkey

import (
	"math"
	"strconv"
	"strings"
)

const (
	// backlogSetting is how much of its stream a server keeps for replicas that come back.
	backlogSetting = "repl-backlog-size"
	// mostBacklog is what it keeps unless people say so, leastBacklog what it keeps however little memory it has.
	mostBacklog, leastBacklog = 64 << 20, 1 << 20
	// backlogPart of maxmemory is the most: what is kept counts as memory of the server, and is never given back. A
	// server that keeps as much as it may hold refuses every write after so many bytes of them, or evicts all keys.
	backlogPart = 8
)

// backlog is the size for the settings that people made.
func backlog(values map[string]string) string {
	size := uint64(mostBacklog)
	for name, value := range values {
		if most, ok := memory(value); ok && most > 0 && strings.EqualFold(name, "maxmemory") {
			size = max(leastBacklog, min(size, most/backlogPart))
		}
	}
	return strconv.FormatUint(size, 10)
}

// memory reads an amount as the server does: k is 1000, kb is 1024.
func memory(text string) (uint64, bool) {
	digits := strings.TrimRight(strings.ToLower(text), "bkmg")
	unit, known := map[string]uint64{
		"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30,
	}[strings.ToLower(text)[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 64)
	return n * unit, known && err == nil && n <= math.MaxUint64/unit
}
