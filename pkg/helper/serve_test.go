package helper

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// served runs Serve and returns what stops it and tells how it ended.
func served(t *testing.T, root string) (dialer, func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, root, nameOnly) }()
	t.Cleanup(stop)
	return dialTo(l), func() error {
		stop()
		return <-ended
	}
}

func TestServe(t *testing.T) {
	root := filepath.Join(t.TempDir(), "sub", "path")
	dial, stop := served(t, root)
	repo := repository.NewRemote("pvc:claim/sub/path", dial)
	if err := errors.Join(repo.Ready(t.Context()), Ready(t.Context(), dial)); err != nil {
		t.Fatal(err)
	}
	if free, err := repo.Probe(t.Context()); err != nil || free <= 0 {
		t.Errorf("%d bytes free, %v", free, err)
	}
	if list, err := repo.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("an empty repository: %v, %v", list, err)
	}
	if repo.URL() != "pvc:claim/sub/path" {
		t.Errorf("URL %q", repo.URL())
	}
	if err := repo.Close(); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Errorf("end: %v", err)
	}
	if err := repo.Ready(t.Context()); err == nil {
		t.Error("it still serves")
	}
}

// An end drops what is not committed and frees its lock.
func TestEndDropsUploads(t *testing.T) {
	root := t.TempDir()
	dial, stop := served(t, root)
	d, err := repository.NewDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	var started repository.UploadReply
	post(t, dial, repository.PathBackups+"/"+backupID+"/uploads", repository.UploadRequest{Operation: "op-1"}, &started)
	if _, err := d.Writer(t.Context(), backupID, "op-1"); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("under an upload: %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("end: %v", err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

func TestServeOptions(t *testing.T) {
	for _, listen := range []string{"", "127.0.0.1", "0.0.0.0:0", ":8600", "192.0.2.1:1"} {
		if err := (ServeOptions{Listen: listen, Root: t.TempDir()}).Run(t.Context()); err == nil {
			t.Errorf("listened on %q", listen)
		}
	}
	if err := (ServeOptions{Listen: "127.0.0.1:0", Root: "relative"}).Run(t.Context()); err == nil {
		t.Error("served a relative path")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, listen := range []string{"127.0.0.1:0", "localhost:0"} {
		if err := (ServeOptions{Listen: listen, Root: t.TempDir()}).Run(ctx); err != nil &&
			!errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", listen, err)
		}
	}
}
