package lease

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// fakeProc is a /proc in which this process and one other, number 77, run.
func fakeProc(t *testing.T, other string) processTable {
	t.Helper()
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stat := func(state, start string) string {
		return "1 (a (odd) name) " + state + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + start + " 0 0"
	}
	write("sys/kernel/random/boot_id", "boot-1\n")
	write(strconv.Itoa(os.Getpid())+"/stat", stat("S", "100"))
	if other != "" {
		write("77/stat", stat(other[:1], other[1:]))
	}
	if err := os.MkdirAll(filepath.Join(root, "self/ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pid:[1]", filepath.Join(root, "self/ns/pid")); err != nil {
		t.Fatal(err)
	}
	return processTable{root: root}
}

func TestProcessDeath(t *testing.T) {
	tests := []struct {
		name   string
		other  string
		change func(*process)
		want   bool
	}{
		{"runs", "S500", nil, false},
		{"gone", "", nil, true},
		{"its number was given to another", "S501", nil, true},
		{"a zombie acts no more", "Z500", nil, true},
		{"another machine", "", func(p *process) { p.Host += "x" }, false},
		{"another boot", "", func(p *process) { p.Boot = "boot-2" }, false},
		{"another container", "", func(p *process) { p.PIDNamespace = "pid:[2]" }, false},
		{"another user, whose processes may be hidden", "", func(p *process) { p.UID++ }, false},
		{"a start that was never known", "", func(p *process) { p.Start = "" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := fakeProc(t, tt.other)
			p, ok := table.self()
			if !ok || p.Start != "100" {
				t.Fatalf("self is %+v, %v", p, ok)
			}
			p.PID, p.Start = 77, "500"
			if tt.change != nil {
				tt.change(&p)
			}
			decoded, ok := decodeProcess(p.encode())
			if !ok || decoded != p {
				t.Fatalf("decoded %+v, %v", decoded, ok)
			}
			if got := table.dead(decoded); got != tt.want {
				t.Errorf("dead = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestProcessWithoutProc(t *testing.T) {
	table := processTable{root: t.TempDir()}
	if p, ok := table.self(); ok {
		t.Errorf("described %+v without /proc", p)
	}
	if table.dead(process{PID: 77, Start: "1"}) {
		t.Error("a death is proven without /proc")
	}
	if _, ok := decodeProcess("garbage"); ok {
		t.Error("garbage is a process")
	}
}
