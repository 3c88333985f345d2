package valkey

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// stream encodes commands, one a line.
func stream(lines string) (raw []byte) {
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if words[0] == "MARK" {
			words = []string{"SPUBLISH", "dbop:log", words[1] + " 0"}
		}
		raw = append(raw, resp.Encode(words)...)
	}
	return raw
}

// replayed is what a replay writes of a stream that is cut into files at some place.
func replayed(t *testing.T, raw []byte, cut int, until time.Time) ([]byte, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := newReplay(out, 3, until)
	parts := map[string][]byte{}
	var all []stretch
	for at, part := range [][]byte{raw[:cut], raw[cut:]} {
		s := stretch{Name: logfile.Name{History: first, End: uint64(at*cut + len(part))}, start: uint64(at * cut)}
		s.from, s.to = s.start, s.End
		parts[s.String()] = part
		all = append(all, s)
	}
	if cut == 0 {
		all = all[1:]
	}
	if err := r.all(all, func(name string) ([]byte, error) { return parts[name], nil }); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestReplay(t *testing.T) {
	t.Parallel()
	const all = "SET a 1\nPING\nMARK 10\nMULTI\nINCR a\nSET b 1\nEXEC\nREPLCONF GETACK *\nMARK 11\nSELECT 5\n" +
		"PUBLISH c x\nSET c 1\n"
	for name, c := range map[string]struct {
		stream, want string
		until        int64
		why          string
	}{
		"before the first mark": {all, "SELECT 3\n", 9, ""},
		"at a mark":             {all, "SELECT 3\nSET a 1\n", 10, ""},
		"to the next one":       {all + "MARK 12\n", "SELECT 3\nSET a 1\nMULTI\nINCR a\nSET b 1\nEXEC\n", 11, ""},
		"behind the last":       {all, "", 11, "ends before"},
		"all":                   {all, "SELECT 3\nSET a 1\nMULTI\nINCR a\nSET b 1\nEXEC\nSELECT 5\nSET c 1\n", 0, ""},
		"all, with a part of a transaction": {all + "MULTI\nINCR a\n",
			"SELECT 3\nSET a 1\nMULTI\nINCR a\nSET b 1\nEXEC\nSELECT 5\nSET c 1\n", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, until := stream(c.stream), time.Time{}
			if c.until > 0 {
				until = time.Unix(c.until, 0)
			}
			for cut := 0; cut < len(raw); cut += 31 {
				got, err := replayed(t, raw, cut, until)
				if c.why != "" {
					if err == nil || !strings.Contains(err.Error(), c.why) {
						t.Fatalf("it gives %v, want %q", err, c.why)
					}
					continue
				}
				if err != nil || !bytes.Equal(got, stream(c.want)) {
					t.Fatalf("cut at %d it is %q, %v", cut, got, err)
				}
			}
		})
	}
	// What ends within a command is left out.
	raw := stream("SET a 1\nSET b 1\n")
	got, err := replayed(t, raw[:len(raw)-3], 4, time.Time{})
	if err != nil || !bytes.Equal(got, stream("SELECT 3\nSET a 1\n")) {
		t.Errorf("cut within a command it is %q, %v", got, err)
	}
}

// FuzzReplay: whatever the stream holds, what is written are whole commands, and no transaction is open.
func FuzzReplay(f *testing.F) {
	f.Add(stream("SET a 1\nMARK 10\nMULTI\nSET b 1\nEXEC\nMARK 12\n"), int64(11))
	f.Add(stream("MULTI\nINCR a\n"), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, until int64) {
		at := time.Time{}
		if until > 0 {
			at = time.Unix(until%(1<<40), 0)
		}
		got, err := replayed(t, raw, len(raw)/2, at)
		if err != nil {
			return
		}
		var s logfile.Scanner
		open := false
		for len(got) > 0 {
			n, whole, err := s.Next(got)
			if err != nil || !whole {
				t.Fatalf("it ends within a command: %q, %v", got, err)
			}
			switch strings.ToUpper(s.Argument(0)) {
			case "MULTI":
				open = true
			case "EXEC", "DISCARD":
				open = false
			}
			got = got[n:]
		}
		if open {
			t.Error("it ends within a transaction")
		}
	})
}

// TestReplayBroken: files that are not what their names say, and a history that begins within a transaction.
func TestReplayBroken(t *testing.T) {
	t.Parallel()
	raw := stream("MULTI\nINCR a\n")
	size := uint64(len(raw))
	piece := func(history string) stretch {
		return stretch{Name: logfile.Name{History: history, End: size}, to: size}
	}
	for name, c := range map[string]struct {
		stretches []stretch
		body      []byte
	}{
		"another size":         {[]stretch{piece(first)}, raw[1:]},
		"within a transaction": {[]stretch{piece(first), piece(second)}, raw},
		"no stream":            {[]stretch{piece(first)}, []byte(strings.Repeat("x", len(raw)))},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), strconv.Itoa(len(name))))
		if err != nil {
			t.Fatal(err)
		}
		r := newReplay(out, 0, time.Time{})
		if err := r.all(c.stretches, func(string) ([]byte, error) { return c.body, nil }); err == nil {
			t.Errorf("%s is taken", name)
		}
		out.Close()
	}
}
