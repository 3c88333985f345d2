package helper

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every state that a crash, or somebody else, can leave, and what the next run
// makes of it.
func TestWhatARunFinds(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":            {nil, "loads"},
		"empty directory":    {map[string]string{"data/": ""}, "loads"},
		"half a transfer":    {map[string]string{".dbop-load/snapshot": "x"}, "loads"},
		"half a command":     {map[string]string{".dbop-load/snapshot": "x", ".dbop-load/out/db": "y"}, "loads"},
		"marked, not moved":  {map[string]string{"data.dbop-loaded": "op-1\n", ".dbop-load/out/db": "y"}, "loads"},
		"marker cut short":   {map[string]string{"data.dbop-loaded.part": "op-"}, "loads"},
		"other marker alone": {map[string]string{"data.dbop-loaded": "op-0\n"}, "loads"},
		"moved, not cleared": {map[string]string{"data.dbop-loaded": "op-1\n", "data/db": "y", ".dbop-load/snapshot": "x"},
			"done"},
		"done":              {map[string]string{"data.dbop-loaded": "op-1\n", "data/db": "y"}, "done"},
		"a member's data":   {map[string]string{"data/db": "y", ".dbop-load/snapshot": "x"}, "refuses"},
		"other operation's": {map[string]string{"data.dbop-loaded": "op-0\n", "data/db": "y"}, "refuses"},
		"a file":            {map[string]string{"data": "y"}, "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "copy")
			lay(t, filepath.Dir(o.Into), test.files)
			got := "loads"
			switch done, err := o.begin(); {
			case done:
				got = "done"
			case errors.Is(err, ErrOccupied):
				got = "refuses"
			case err != nil:
				t.Fatal(err)
			}
			if got != test.want {
				t.Fatalf("it %s, want %s", got, test.want)
			}
			checkAfter(t, o, got, test.files)
		})
	}
}

func checkAfter(t *testing.T, o LoadOptions, outcome string, files map[string]string) {
	t.Helper()
	switch outcome {
	case "loads":
		dial, ended := receiving(t, newReceiver(o))
		if err := errors.Join(deliver(t, dial, []byte("snapshot")), <-ended); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || string(b) != "snapshot" {
			t.Errorf("loaded %q, %v", b, err)
		}
	case "refuses":
		for name, content := range files {
			if b, err := os.ReadFile(filepath.Join(filepath.Dir(o.Into), name)); err != nil || string(b) != content {
				t.Errorf("it touched %s: %q, %v", name, b, err)
			}
		}
		return
	}
	if _, err := os.Stat(o.Staging); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staging: %v", err)
	}
	if done, err := o.begin(); !done || err != nil {
		t.Errorf("the next run: %v, %v", done, err)
	}
}

func lay(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o700))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestStagingOfSomebodyElse(t *testing.T) {
	o := options(t, "copy")
	lay(t, filepath.Dir(o.Into), map[string]string{".dbop-load/precious": "x"})
	dial, _ := receiving(t, newReceiver(o))
	if err := deliver(t, dial, []byte("snapshot")); err == nil || !strings.Contains(err.Error(), o.Staging) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Staging, "precious")); err != nil {
		t.Error(err)
	}
}

// Data that appears while the receiver waits is as safe as data before.
func TestOccupiedWhileWaiting(t *testing.T) {
	o := options(t, "copy")
	dial, _ := receiving(t, newReceiver(o))
	lay(t, filepath.Dir(o.Into), map[string]string{"data/db": "y"})
	if err := deliver(t, dial, []byte("snapshot")); !errors.Is(err, ErrOccupied) {
		t.Errorf("%v", err)
	}
}

func TestReceiveRefusesOccupied(t *testing.T) {
	o := options(t, "copy")
	lay(t, filepath.Dir(o.Into), map[string]string{"data/db": "y"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Receive(context.Background(), l, o); !errors.Is(err, ErrOccupied) {
		t.Errorf("%v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("listener: %v", err)
	}
}
