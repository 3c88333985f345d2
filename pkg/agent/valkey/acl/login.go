//go:build linux

package acl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Hash is a password as rules have it.
func Hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(sum[:])
}

// Allows says whether a user may log in with a password. It reads the words of the user's rule in their order, as the
// server does.
func Allows(rules, user, password string) bool {
	on, any, hashes := false, false, []string{}
	for line := range strings.Lines(rules) {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != user {
			continue
		}
		for _, word := range words[2:] {
			switch {
			case word == "on":
				on = true
			case word == "off":
				on = false
			case word == "nopass":
				any = true
			case word == "resetpass":
				any, hashes = false, nil
			case word == "reset":
				on, any, hashes = false, false, nil
			case word[0] == '#':
				any, hashes = false, append(hashes, word)
			case word[0] == '>':
				any, hashes = false, append(hashes, Hash(word[1:]))
			case word[0] == '!', word[0] == '<':
				gone := "#" + word[1:]
				if word[0] == '<' {
					gone = Hash(word[1:])
				}
				hashes = slices.DeleteFunc(hashes, func(h string) bool { return h == gone })
			}
		}
	}
	return on && (any || slices.Contains(hashes, Hash(password)))
}
