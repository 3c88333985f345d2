package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/port"
)

// StartLocalStore runs the store of StartObjectStore as a process of this machine, on its loopback, with its data in
// dir/data. It runs until ctx ends.
func StartLocalStore(ctx context.Context, dir string) (*ObjectStore, error) {
	cert, key, err := SelfSigned(net.IPv4(127, 0, 0, 1))
	if err != nil {
		return nil, err
	}
	number, release, err := port.Take()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, release)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.MkdirAll(at("data"), 0o700), os.MkdirAll(at("versions"), 0o700),
		os.WriteFile(at("ca.pem"), cert, 0o600), os.WriteFile(at("key.pem"), key, 0o600))
	if err != nil {
		return nil, fmt.Errorf("prepare an object store: %w", err)
	}
	o := &ObjectStore{Endpoint: "https://" + address, CA: cert, Key: "dbop-test", Secret: rand.Text()}
	program := Command{Path: StoreProgram("versitygw"), Dir: dir,
		Env: map[string]string{"ROOT_ACCESS_KEY": o.Key, "ROOT_SECRET_KEY": o.Secret}}
	if _, err := program.Start(ctx, "--port", address, "--cert", at("ca.pem"), "--key", at("key.pem"), "--quiet",
		"--keep-alive", "posix", "--versioning-dir", at("versions"), at("data")); err != nil {
		return nil, fmt.Errorf("start an object store, which make stores builds: %w", err)
	}
	return o, Until(ctx, time.Minute, "the object store", func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
}
