package helper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// onceOptions are those of a command that reads its file once.
func onceOptions(t *testing.T, mode string) LoadOptions {
	t.Helper()
	o := options(t, mode)
	o.Once = true
	return o
}

// TestPipe: nothing is stored but what the command makes, and a volume needs room for that alone.
func TestPipe(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	o := onceOptions(t, "copy")
	r := newReceiver(o)
	r.free = func(string) (int64, error) { return int64(len(data)) + o.Margin, nil }
	dial, ended := receiving(t, r)
	if err := errors.Join(deliver(t, dial, data), <-ended); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	if got := fmt.Sprint(volume(t, o)); got != "[data data.dbop-loaded]" {
		t.Errorf("the volume holds %s", got)
	}
}

// TestPipeBreaks: damage is told before what the command says, nothing is put in place, and a repeat succeeds.
func TestPipeBreaks(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	other := bytes.Repeat([]byte("snapshit"), 1<<18)
	broken := io.MultiReader(strings.NewReader("snap"), iotest.ErrReader(repository.ErrDamaged))
	for name, c := range map[string]struct {
		mode  string
		body  io.Reader
		want  error
		words string
	}{
		"other bytes":               {"copy", bytes.NewReader(other), repository.ErrDamaged, "was announced"},
		"the command fails":         {"fail", bytes.NewReader(data), ErrCommand, "wrong smell"},
		"the command reads nothing": {"nothing", bytes.NewReader(data), ErrCommand, "made nothing"},
		"other bytes, and it fails": {"fail", bytes.NewReader(other), ErrCommand, "not known whether it is damaged"},
		"the source breaks":         {"copy", broken, repository.ErrDamaged, ""},
		"the source ends too early": {"copy", bytes.NewReader(data[:100]), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := onceOptions(t, c.mode)
			r := newReceiver(o)
			dial, ended := receiving(t, r)
			err := load(t, dial, c.body, int64(len(data)), hashOf(data))
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("%v", err)
			}
			awaitWaiting(t, r)
			if got := volume(t, o); len(got) > 0 {
				t.Errorf("it left %v", got)
			}
			if c.mode == "copy" {
				if err := errors.Join(deliver(t, dial, data), <-ended); err != nil {
					t.Errorf("repeat: %v", err)
				}
			}
		})
	}
}

// TestPipeFetched: a backup that is read out of a repository is compared there.
func TestPipeFetched(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	repo, file := holding(t, data)
	o := onceOptions(t, "copy")
	if err := o.Fetch(t.Context(), repo, fetched, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	data[len(data)/2]++
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	o = onceOptions(t, "copy")
	if err := o.Fetch(t.Context(), repo, fetched, ""); !errors.Is(err, repository.ErrDamaged) {
		t.Errorf("a flipped byte: %v", err)
	}
	if got := volume(t, o); len(got) > 0 {
		t.Errorf("it left %v", got)
	}
}

// endless is a source that has bytes for ever, or none until it is abandoned.
type endless struct {
	stuck     bool
	abandoned chan struct{}
}

func (e endless) Read(p []byte) (int, error) {
	if e.stuck {
		<-e.abandoned
		return 0, errors.New("cut off")
	}
	return len(p), nil
}

func (endless) done() error { return nil }

func (e endless) abandon() { close(e.abandoned) }

// TestPipeEndsWithItsCommand: the rest of a backup is not read for a command that has failed, and its error is told.
func TestPipeEndsWithItsCommand(t *testing.T) {
	for name, stuck := range map[string]bool{"a source that goes on": false, "a source that stops": true} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(onceOptions(t, "fail"))
			r.free = func(string) (int64, error) { return 1 << 60, nil }
			err := r.load(t.Context(), endless{stuck, make(chan struct{})}, 1<<40, "")
			if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "wrong smell") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSentPipeEndsWithItsCommand: who sends a backup is told at once, too.
func TestSentPipeEndsWithItsCommand(t *testing.T) {
	r := newReceiver(onceOptions(t, "fail"))
	r.free = func(string) (int64, error) { return 1 << 60, nil }
	dial, _ := receiving(t, r)
	err := load(t, dial, endless{}, 1<<40, ComparedInside)
	if !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), "wrong smell") {
		t.Errorf("%v", err)
	}
}
