//go:build linux

package valkey

import (
	"slices"
	"strings"
)

// Allows says whether a user has a password, by the rules that the server takes. It needs no server.
func (s *Server) Allows(user, password string) bool {
	rules, err := s.rules()
	return err == nil && allows(rules, user, password)
}

// allows reads the words of a user's rule in their order, as the server does.
func allows(rules, user, password string) bool {
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
				any, hashes = false, append(hashes, hash(word[1:]))
			case word[0] == '!', word[0] == '<':
				gone := "#" + word[1:]
				if word[0] == '<' {
					gone = hash(word[1:])
				}
				hashes = slices.DeleteFunc(hashes, func(h string) bool { return h == gone })
			}
		}
	}
	return on && (any || slices.Contains(hashes, hash(password)))
}
