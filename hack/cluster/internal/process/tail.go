package process

import (
	"io"
	"os"
	"strings"
)

// tailBytes is enough for the last lines that anybody wants to read.
const tailBytes = 16 << 10

// Tail returns the last lines of a file, indented, to be quoted in an error.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return "  (" + err.Error() + ")"
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	return LastLines(string(content), lines)
}

// LastLines is Tail for output that was collected.
func LastLines(output string, lines int) string {
	all := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
