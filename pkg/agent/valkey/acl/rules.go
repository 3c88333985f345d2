//go:build linux

// Package acl reads and changes rules for users as the server has them, in a file or by command.
package acl

import (
	"maps"
	"slices"
	"strings"
)

// ClosedDefault is the user default where nobody may enter as it. The server executes the transactions in its
// append-only files as that user: without the right to a command it leaves out every transaction that has it, and says
// so in its log alone (Redis, and Valkey before 9).
const ClosedDefault = "user default off resetpass ~* &* +@all"

// WhileLoading returns rules with which the server loads its files whole. It takes the others once it has.
func WhileLoading(rules string) string {
	var b strings.Builder
	for line := range strings.Lines(rules) {
		if strings.HasPrefix(line, "user default ") {
			line = ClosedDefault + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// Changes returns the commands that lead from some rules to others.
func Changes(from, to string) (commands [][]string) {
	before, after := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(from) {
		before[strings.Fields(line)[1]] = line
	}
	for line := range strings.Lines(to) {
		words := strings.Fields(line)
		after[words[1]] = true
		if before[words[1]] != line {
			commands = append(commands, slices.Concat([]string{"ACL", "SETUSER", words[1], "reset"}, words[2:]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !after[name] {
			commands = append(commands, []string{"ACL", "DELUSER", name})
		}
	}
	return commands
}
