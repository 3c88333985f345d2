package store

import (
	"fmt"
	"strings"
)

const (
	// maxKey is below the shortest limit of any store, with room for a prefix.
	maxKey = 700
	// MaxSegment bounds what lies between two slashes: it is a file name in a directory, and may get a suffix.
	MaxSegment = 240
)

// CheckKey accepts what is safe as a key in every store and as a path in every file system: segments of
// letters, digits and "-_.!", separated by single slashes, none of which begins with a dot.
func CheckKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("%w: %.40q has %d bytes; 1 to %d are allowed", ErrKey, key, len(key), maxKey)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if !validSegment(segment) {
			return fmt.Errorf("%w: %.200q", ErrKey, key)
		}
	}
	return nil
}

// checkPrefix accepts the beginning of a key.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if whole := strings.TrimSuffix(prefix, "/"); whole != prefix || !strings.HasSuffix(prefix, ".") {
		return CheckKey(whole)
	}
	return CheckKey(prefix + "x")
}

func validSegment(s string) bool {
	if s == "" || len(s) > MaxSegment || s[0] == '.' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.!", c) >= 0:
		default:
			return false
		}
	}
	return true
}
