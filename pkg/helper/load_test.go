package helper

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// TestMain lets the test binary play the engine's load command.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "engine" {
		if err := playEngine(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func playEngine(mode, file, out string) error {
	switch mode {
	case "nothing":
		return nil
	case "fail":
		fmt.Println(strings.Repeat("chatter ", 10000))
		return errors.New("the snapshot has a wrong smell")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "db"), content, 0o600)
}

func options(t *testing.T, mode string) LoadOptions {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	volume := t.TempDir()
	return LoadOptions{
		Listen: "127.0.0.1:0", Into: filepath.Join(volume, "data"), Staging: filepath.Join(volume, ".dbop-load"),
		Operation: "op-1", Command: []string{exe, "engine", mode, FileToken, OutToken}, Margin: 1,
	}
}

type dialer = func(context.Context) (net.Conn, error)

// receiving starts a receiver, as far as it starts, and tells how it ended.
func receiving(t *testing.T, r *receiver) (dialer, <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ended <- r.run(ctx, l)
	}()
	t.Cleanup(func() {
		stop()
		<-gone
	})
	return dialTo(l), ended
}

func dialTo(l net.Listener) dialer {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func deliver(t *testing.T, dial dialer, data []byte) error {
	t.Helper()
	return load(t, dial, bytes.NewReader(data), int64(len(data)), hashOf(data))
}

func load(t *testing.T, dial dialer, r io.Reader, size int64, sum string) error {
	t.Helper()
	_, err := Load(context.WithoutCancel(t.Context()), dial, r, size, sum, nil)
	return err
}

func volume(t *testing.T, o LoadOptions) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(o.Into))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestLoad(t *testing.T) {
	o := options(t, "copy")
	dataHash := engine.DataHash{Fingerprint: engine.Fingerprint{Proof: "7 keys, h"}, Mark: "m"}
	o.DataHash = func(file string, command []string) (engine.DataHash, error) {
		if !slices.Equal(command, o.Command) {
			t.Errorf("it describes what %q makes", command)
		}
		_, err := os.Stat(file)
		return dataHash, err
	}
	dial, ended := receiving(t, newReceiver(o))
	if err := Ready(t.Context(), dial); err != nil {
		t.Errorf("Ready: %v", err)
	}
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	var sent int64
	got, err := Load(t.Context(), dial, bytes.NewReader(data), int64(len(data)), hashOf(data), func(n int64) { sent = n })
	if err != nil || sent != int64(len(data)) || !reflect.DeepEqual(got, dataHash) {
		t.Fatalf("%d bytes, %+v, %v", sent, got, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("receiver: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	if got := fmt.Sprint(volume(t, o)); got != "[data data.dbop-loaded]" {
		t.Errorf("the volume holds %s", got)
	}
	// The container starts again: no listener, no work, success.
	if err := o.Run(t.Context()); err != nil {
		t.Errorf("second run: %v", err)
	}
	o.Operation = "op-2"
	if err := o.Run(t.Context()); !errors.Is(err, ErrOccupied) {
		t.Errorf("another operation: %v", err)
	}
	if err := Ready(t.Context(), dial); err == nil {
		t.Error("it still serves")
	}
}

func TestFailedLoadCanBeRepeated(t *testing.T) {
	data := []byte("snapshot")
	short := func(err error) io.Reader {
		return io.MultiReader(strings.NewReader("snap"), iotest.ErrReader(err))
	}
	for name, test := range map[string]struct {
		mode  string
		send  func(dialer) error
		want  error
		words string
	}{
		"command fails": {"fail", func(d dialer) error {
			return load(t, d, bytes.NewReader(data), 8, hashOf(data))
		}, ErrCommand, "wrong smell"},
		"command makes nothing": {"nothing", func(d dialer) error {
			return load(t, d, bytes.NewReader(data), 8, hashOf(data))
		}, ErrCommand, "made nothing"},
		"what it makes can't be read": {"unreadable", func(d dialer) error {
			return load(t, d, bytes.NewReader(data), 8, hashOf(data))
		}, ErrCommand, "no database"},
		"other bytes": {"copy", func(d dialer) error {
			return load(t, d, strings.NewReader("snapshit"), 8, hashOf(data))
		}, repository.ErrDamaged, hashOf(data)},
		"source breaks": {"copy", func(d dialer) error {
			return load(t, d, short(repository.ErrDamaged), 8, hashOf(data))
		}, repository.ErrDamaged, ""},
		"source ends early": {"copy", func(d dialer) error {
			return load(t, d, strings.NewReader("snap"), 8, hashOf(data))
		}, nil, ""},
		"no size": {"copy", func(d dialer) error {
			return load(t, d, bytes.NewReader(data), 0, hashOf(data))
		}, repository.ErrRequest, "Content-Length"},
		"no hash": {"copy", func(d dialer) error {
			return load(t, d, bytes.NewReader(data), 8, "")
		}, repository.ErrRequest, "Dbop-Sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, test.mode)
			if test.mode == "unreadable" {
				o.DataHash = func(string, []string) (engine.DataHash, error) {
					return engine.DataHash{}, errors.New("no database")
				}
			}
			r := newReceiver(o)
			dial, ended := receiving(t, r)
			err := test.send(dial)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
				t.Fatalf("%v", err)
			}
			if len(err.Error()) > 2*maxOutput {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			awaitWaiting(t, r)
			if got := volume(t, o); len(got) > 0 {
				t.Errorf("it left %v", got)
			}
			if test.mode != "copy" {
				return
			}
			if err := deliver(t, dial, data); err != nil {
				t.Errorf("repeat: %v", err)
			}
			if err := <-ended; err != nil {
				t.Errorf("receiver: %v", err)
			}
		})
	}
}

// awaitWaiting asks until the receiver has noticed that its client is gone.
func awaitWaiting(t *testing.T, r *receiver) {
	t.Helper()
	for r.status.now().State != StateWaiting {
		if t.Context().Err() != nil {
			t.Fatal("the receiver never gave up")
		}
	}
}

func TestSecondLoadIsRefused(t *testing.T) {
	o := options(t, "copy")
	r := newReceiver(o)
	dial, ended := receiving(t, r)
	data := []byte("snapshot")
	source, feed := io.Pipe()
	first := make(chan error, 1)
	go func() { first <- load(t, dial, source, 8, hashOf(data)) }()
	if _, err := feed.Write(data[:4]); err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, dial, data); !errors.Is(err, ErrLoading) {
		t.Errorf("second load: %v", err)
	}
	if _, err := feed.Write(data[4:]); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(feed.Close(), <-first, <-ended); err != nil {
		t.Errorf("first load: %v", err)
	}
}

func TestLoadWantsRoom(t *testing.T) {
	for free, want := range map[int64]error{26: ErrVolumeFull, 27: nil} {
		o := options(t, "copy")
		o.Margin = 11
		r := newReceiver(o)
		r.free = func(string) (int64, error) { return free, nil }
		dial, _ := receiving(t, r)
		if err := deliver(t, dial, []byte("snapshot")); !errors.Is(err, want) {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
}

// Stale files would make a full volume appear too small for ever.
func TestStagingIsClearedBeforeRoomIsMeasured(t *testing.T) {
	o := options(t, "copy")
	stale := filepath.Join(o.Staging, "out", "member")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(o)
	r.free = func(string) (int64, error) {
		if _, err := os.Stat(stale); err == nil {
			return 0, nil
		}
		return 1 << 40, nil
	}
	dial, _ := receiving(t, r)
	if err := deliver(t, dial, []byte("snapshot")); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*LoadOptions){
		"relative":          func(o *LoadOptions) { o.Into = "data" },
		"relative staging":  func(o *LoadOptions) { o.Staging = "staging" },
		"same":              func(o *LoadOptions) { o.Staging = o.Into + "/" },
		"staging elsewhere": func(o *LoadOptions) { o.Staging = "/tmp/x/y" },
		"staging above":     func(o *LoadOptions) { o.Staging = filepath.Dir(o.Into) },
		"no operation":      func(o *LoadOptions) { o.Operation = "" },
		"two lines":         func(o *LoadOptions) { o.Operation = "a\nb" },
		"no command":        func(o *LoadOptions) { o.Command = nil },
		"no file":           func(o *LoadOptions) { o.Command = []string{"x", OutToken} },
		"no out":            func(o *LoadOptions) { o.Command = []string{"x", FileToken} },
		"margin":            func(o *LoadOptions) { o.Margin = -1 },
		"open to all":       func(o *LoadOptions) { o.Listen = "0.0.0.0:8601" },
		"no port":           func(o *LoadOptions) { o.Listen = "127.0.0.1" },
	} {
		o := options(t, "copy")
		change(&o)
		if err := o.Run(t.Context()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestReceiverEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := Receive(ctx, l, options(t, "copy")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
