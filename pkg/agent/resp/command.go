// Package resp reads commands and writes answers in the protocol of Valkey and Redis.
package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds are the most that a command may have: the other side is not trusted yet.
type Bounds struct {
	Arguments int
	// Bytes are those of one argument.
	Bytes int
}

// ReadCommand reads one command with its arguments.
func ReadCommand(in *bufio.Reader, most Bounds) ([]string, error) {
	n, err := readNumber(in, '*', most.Arguments)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("read a command: it is empty")
	}
	args := make([]string, n)
	for i := range args {
		length, err := readNumber(in, '$', most.Bytes)
		if err != nil {
			return nil, err
		}
		raw := make([]byte, length+len("\r\n"))
		if _, err := io.ReadFull(in, raw); err != nil {
			return nil, fmt.Errorf("read a command: %w", err)
		}
		args[i] = string(raw[:length])
	}
	return args, nil
}

// readNumber reads a line such as "*3". It is never longer than the buffer of the reader.
func readNumber(in *bufio.Reader, kind byte, most int) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, fmt.Errorf("read a command: %w", err)
	}
	text, found := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), string(kind))
	n, err := strconv.Atoi(text)
	if !found || err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("read a command: the line %.20q is not %q and a number up to %d", line, kind, most)
	}
	return n, nil
}

// Encode writes a command.
func Encode(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = appendBulk(b, a)
	}
	return b
}

func appendBulk(b []byte, text string) []byte {
	return fmt.Appendf(b, "$%d\r\n%s\r\n", len(text), text)
}
