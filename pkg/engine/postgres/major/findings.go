package major

import (
	"os"
	"path/filepath"
	"strings"
)

// verdict is what pg_upgrade says of the first check or step that failed. The files that it refers to go with the data:
// findings has what they hold.
func verdict(words string) string {
	said := strings.Join(strings.Fields(words), " ")
	if at := strings.LastIndex(said, " ok "); at >= 0 {
		said = said[at+len(" ok "):]
	}
	for _, file := range []string{" A list of ", " Consult the last few lines "} {
		said, _, _ = strings.Cut(said, file)
	}
	return said[max(0, len(said)-last):]
}

// findings are what pg_upgrade wrote of the objects at fault, and the errors that its programs met.
func findings(data string) string {
	var out strings.Builder
	for _, pattern := range []string{"*.txt", "log/*.log"} {
		found, _ := filepath.Glob(filepath.Join(data, "pg_upgrade_output.d", "*", pattern)) // the pattern is right
		for _, path := range found {
			raw, err := os.ReadFile(path) //nolint:gosec // a file of ours
			text := string(raw)
			if strings.HasSuffix(path, ".log") {
				text = failure(text)
			}
			if words := strings.Join(strings.Fields(text), " "); err == nil && words != "" {
				out.WriteString("; " + filepath.Base(path) + ": " + words[:min(len(words), last)])
			}
		}
	}
	return out.String()
}

// failure is the first error in the log of pg_restore, with the entry that it worked on; "" if there is none.
func failure(text string) string {
	before, after, found := strings.Cut(text, "error: ")
	if !found {
		return ""
	}
	after, _, _ = strings.Cut(after, "Command was:")
	const entry = "from TOC entry "
	at := strings.LastIndex(before, entry)
	if at < 0 {
		return after
	}
	line, _, _ := strings.Cut(before[at+len(entry):], "\n")
	return line + ": " + after
}
