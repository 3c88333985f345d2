package repository

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	// stamp is the time inside an identifier, always in UTC.
	stamp = "20060102T150405Z"
	// maxID leaves room for suffixes within the 255 bytes of a file name.
	maxID = 128
)

// ErrID: the text can't be a backup's identifier.
var ErrID = errors.New("not a backup identifier")

// NewID makes an identifier that is unique in any repository and sorts by
// time: "<cluster>-20261121T101500Z-<4 hex>". random is usually crypto/rand's
// Reader.
func NewID(cluster string, now time.Time, random io.Reader) (string, error) {
	var suffix [2]byte
	if _, err := io.ReadFull(random, suffix[:]); err != nil {
		return "", fmt.Errorf("make a backup identifier for %s: %w", cluster, err)
	}
	id := cluster + "-" + now.UTC().Format(stamp) + "-" + hex.EncodeToString(suffix[:])
	if err := CheckID(id); err != nil {
		return "", fmt.Errorf("make a backup identifier for %q: %w", cluster, err)
	}
	return id, nil
}

// ValidID reports whether an identifier is safe as a file name, a path segment
// and an argument: it begins with a small letter or a digit and goes on with
// those, "-", "T" and "Z".
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || strings.IndexByte("-TZ", id[0]) >= 0 {
		return false
	}
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-TZ") == ""
}

// CheckID is ValidID with an explanation.
func CheckID(id string) error {
	if ValidID(id) {
		return nil
	}
	return fmt.Errorf("%w: %q; it resembles \"my-db-20261121T101500Z-0a1b\"", ErrID, id)
}

// ClusterOf cuts time and random suffix off an identifier; "" if it has none.
func ClusterOf(id string) string {
	parts := strings.Split(id, "-")
	if len(parts) < 3 {
		return ""
	}
	return strings.Join(parts[:len(parts)-2], "-")
}

// TimeOf is the time inside an identifier; false if it has none.
func TimeOf(id string) (time.Time, bool) {
	parts := strings.Split(id, "-")
	if len(parts) < 3 {
		return time.Time{}, false
	}
	at, err := time.Parse(stamp, parts[len(parts)-2])
	return at, err == nil
}

// belongs reports whether an identifier was made for the cluster. Clusters
// "db" and "db-1" don't mix: what follows the name has a fixed length.
func belongs(id, cluster string) bool {
	rest, ok := strings.CutPrefix(id, cluster+"-")
	return ok && len(rest) == len(stamp)+len("-0a1b")
}

// NextID makes another identifier of one: that of a further backup of the same operation. It belongs to the same
// cluster, and differs in its random part alone.
func NextID(id string) string {
	at := len(id) - len("0a1b")
	if at > 0 {
		if n, err := strconv.ParseUint(id[at:], 16, 16); err == nil {
			return fmt.Sprintf("%s%04x", id[:at], uint16(n)+1)
		}
	}
	return id + "-0001"
}
