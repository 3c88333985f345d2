package logfile

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// ends reads a stream in pieces and returns where its commands end, with their first words.
func ends(raw []byte, piece int) (at []int, words []string, err error) {
	var s Scanner
	read := 0
	for len(raw) > 0 {
		part := raw[:min(piece, len(raw))]
		raw = raw[len(part):]
		for len(part) > 0 {
			n, whole, err := s.Next(part)
			read += n
			if err != nil {
				return at, words, err
			}
			if whole {
				at, words = append(at, read), append(words, s.Argument(0))
			}
			part = part[n:]
		}
	}
	return at, words, nil
}

func TestScanner(t *testing.T) {
	t.Parallel()
	var raw []byte
	var want []int
	for _, command := range [][]string{
		{"SELECT", "3"}, {"SET", "k", strings.Repeat("value\r\n", 1000)}, {"SET", "", ""}, {"PING"},
		{"MSET", "a", "b", "c", "d"},
	} {
		raw = append(raw, resp.Encode(command)...)
		want = append(want, len(raw))
	}
	for _, piece := range []int{1, 2, 7, 4096, len(raw)} {
		at, words, err := ends(raw, piece)
		if err != nil || !slices.Equal(at, want) || strings.Join(words, " ") != "SELECT SET SET PING MSET" {
			t.Errorf("in pieces of %d: %v %v, %v, want %v", piece, at, words, err, want)
		}
	}
	for name, raw := range map[string]string{
		"a command on one line": "PING\r\n", "no command": "*0\r\n", "less than nothing": "*1\r\n$-1\r\n",
		"an argument that goes on": "*1\r\n$1\r\nabc\r\n", "another ending": "*1\r\n$1\r\na\n\n",
		"a long line": "*" + strings.Repeat("1", 100) + "\r\n", "a line without a return": "*1\n",
		"a huge argument": "*1\r\n$9999999999\r\n",
	} {
		if at, _, err := ends([]byte(raw), 3); err == nil {
			t.Errorf("%s is read: %v", name, at)
		}
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Mark{
		"1795568917 648618":     {Time: time.Unix(1795568917, 648618000).UTC()},
		"1795568917 648618 cut": {Time: time.Unix(1795568917, 648618000).UTC(), Cut: true},
	} {
		var s Scanner
		if _, whole, err := s.Next(resp.Encode([]string{"SPUBLISH", "dbop:log", text})); !whole || err != nil {
			t.Fatal(whole, err)
		}
		if got, ok := s.Mark(); !ok || got != want {
			t.Errorf("%q is %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, other := range [][]string{
		{"SPUBLISH", "dbop:log", "x y"}, {"SPUBLISH", "other", "1 2"}, {"PUBLISH", "dbop:log", "1 2"}, {"SPUBLISH"},
	} {
		var s Scanner
		if _, _, err := s.Next(resp.Encode(other)); err != nil {
			t.Fatal(err)
		}
		if m, ok := s.Mark(); ok {
			t.Errorf("%q is the mark %v", other, m)
		}
	}
}

// FuzzScanner: the size of the pieces changes nothing, and what it reads is what a reader of commands reads.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*1\r\n$4\r\nPING\r\n"), 3)
	f.Add([]byte("*1\r\n$1\r\nabc\r\n"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, piece int) {
		if piece < 1 {
			piece = 1
		}
		at, _, err := ends(raw, piece)
		all, _, whole := ends(raw, max(1, len(raw)))
		if !slices.Equal(at, all) || (err == nil) != (whole == nil) {
			t.Errorf("pieces of %d end at %v, %v; the whole at %v, %v", piece, at, err, all, whole)
		}
		in := bytes.NewReader(raw)
		buffered := bufio.NewReaderSize(in, 4096)
		for _, end := range all {
			if _, err := resp.ReadCommand(buffered, resp.Bounds{Arguments: len(raw), Bytes: len(raw)}); err != nil {
				t.Fatalf("a command that ends at %d is not read: %v", end, err)
			}
			if read := len(raw) - in.Len() - buffered.Buffered(); read != end {
				t.Fatalf("a command ends at %d, not at %d", read, end)
			}
		}
	})
}
