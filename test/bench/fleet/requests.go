package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/deploy"
)

// Requests are how often an operator asked what of the API server, by verb and resource.
type Requests map[string]int

// Log reads the API server's audit log from where it stopped the last time.
type Log struct {
	path string
	at   int64
}

// Audit begins at the end of the log as it is now.
func (p *Plane) Audit() (*Log, error) {
	l := &Log{path: p.AuditLog()}
	_, err := l.Take()
	return l, err
}

// Take counts what the operator asked since the last time.
func (l *Log) Take() (Requests, error) {
	f, err := os.Open(filepath.Clean(l.path))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	if _, err := f.Seek(l.at, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	out := Requests{}
	err = eachLine(f, func(line []byte) error {
		if !strings.HasSuffix(string(line), "\n") {
			return nil // still being written
		}
		l.at += int64(len(line))
		var e struct {
			Verb string `json:"verb"`
			User struct {
				Username string `json:"username"`
			} `json:"user"`
			Object struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if e.User.Username != "system:serviceaccount:"+deploy.Namespace+":"+deploy.Name {
			return nil
		}
		what := e.Verb + " " + e.Object.Resource
		if e.Object.Subresource != "" {
			what += "/" + e.Object.Subresource
		}
		out[what]++
		return nil
	})
	return out, err
}

// Total is how many there were that match; leases aside.
func (r Requests) Total(match func(verb string) bool) int {
	n := 0
	for what, count := range r {
		verb, resource, _ := strings.Cut(what, " ")
		if resource != "leases" && match(verb) {
			n += count
		}
	}
	return n
}

// Leases are how many were about leases.
func (r Requests) Leases() int {
	n := 0
	for what, count := range r {
		if strings.HasSuffix(what, " leases") {
			n += count
		}
	}
	return n
}

// Any matches every request, Write those that change something.
func Any(string) bool { return true }

// Write matches requests that change something.
func Write(verb string) bool {
	return !slices.Contains([]string{"get", "list", "watch"}, verb)
}

func (r Requests) String() string {
	var out []string
	for _, what := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return r[b] - r[a] }) {
		out = append(out, fmt.Sprintf("%d %s", r[what], what))
	}
	return strings.Join(out, ", ")
}

// eachLine hands over every line with its end.
func eachLine(from io.Reader, do func([]byte) error) error {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
