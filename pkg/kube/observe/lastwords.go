package observe

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxMessage bounds what is quoted of a container's last words.
const maxMessage = 400

// lastWords is what a termination message says of the end: its last line that
// sounds like a failure, for programs that print their usage after it, or else
// its last line; cut to a length that fits a report.
func lastWords(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	said := lines[len(lines)-1]
	for _, line := range slices.Backward(lines) {
		if soundsFatal(line) {
			said = line
			break
		}
	}
	said = strings.TrimSpace(plainText(said))
	if r := []rune(said); len(r) > maxMessage {
		said = string(r[:maxMessage]) + "..."
	}
	return said
}

func soundsFatal(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"fatal", "panic", "error", "failed", "not defined", "no space"},
		func(word string) bool { return strings.Contains(line, word) })
}

// plainText is what a line of a structured log says, without its time, place
// and stack; any other line as it is.
func plainText(line string) string {
	var entry struct {
		Message string `json:"msg"`
		Error   string `json:"error"`
	}
	if json.Unmarshal([]byte(strings.TrimSpace(line)), &entry) != nil || entry.Message == "" {
		return line
	}
	if entry.Error == "" {
		return entry.Message
	}
	return entry.Message + ": " + entry.Error
}
