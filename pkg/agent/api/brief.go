package api

import (
	"regexp"
	"strings"
)

// stamp is what servers put before each line: the time and the process. It is another one at each try.
const stamp = `\d{4}-\d\d-\d\d [0-9:.]+ \w+ \[\d+\] |\d+:[A-Z] \d\d \w{3} \d{4} [0-9:.]+ [-#*.] `

// mostBrief is how many bytes of an error a status tells.
const mostBrief = 600

// brief is an error in one line, for people: it stays the same as long as the same goes wrong.
func brief(text string) string {
	out := strings.Join(strings.Fields(regexp.MustCompile(stamp).ReplaceAllString(text, "")), " ")
	if len(out) > mostBrief {
		out = strings.ToValidUTF8(out[:mostBrief], "") + " ..."
	}
	return out
}
