// Package helper is the tool's side inside a pod: a server that keeps backups
// on a mounted volume, a receiver that loads a backup into a member's volume,
// and the installation of the tool's own binary beside a foreign program. The
// servers listen on the pod's loopback only: who may forward ports to the pod
// may use them.
package helper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/remote"
)

const (
	// headerWithin bounds how long a client may take to say what it wants.
	headerWithin = 10 * time.Second
	// stallAfter is how long a stream may stop before it is given up.
	stallAfter = 2 * time.Minute
	// farewell is how long requests may go on once the server is told to end.
	farewell = 5 * time.Second
)

// OpenFunc reads a finished snapshot file with the named engine.
type OpenFunc func(engineName, path string) (engine.SnapshotFacts, error)

// ServeOptions are what the command "helper serve" is told.
type ServeOptions struct {
	// Listen is a loopback address with port.
	Listen string
	// Root is the repository's directory; it is made if it isn't there.
	Root string
	Open OpenFunc
}

// Run listens and serves until ctx ends, see Serve.
func (o ServeOptions) Run(ctx context.Context) error {
	l, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	return Serve(ctx, l, o.Root, o.Open)
}

// Serve gives repository.Remote and remote.Store the directory root, on l, which it closes. It
// returns nil after ctx ended, or once no request came for some minutes; uploads that are not committed by then are
// dropped. After a crash they remain as files that end in .part, which the
// same operation replaces.
func Serve(ctx context.Context, l net.Listener, root string, open OpenFunc) error {
	d, err := repository.NewDirectory(root)
	if err == nil {
		err = d.Prepare()
	}
	var s *store.Directory
	if err == nil {
		s, err = store.NewSharedDirectory(root)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("serve repository %s: %w", root, err), l.Close())
	}
	u := &uploads{repo: d, open: open, stall: stallAfter, byID: map[string]*upload{}}
	mux := http.NewServeMux()
	c := catalog{repo: d}
	c.route(mux)
	u.route(mux)
	objects := remote.NewHandler(s)
	objects.Route(mux)
	serving, h, done := untilIdle(ctx, mux, idleAfter)
	defer done()
	err = serve(serving, l, h)
	if err := errors.Join(err, u.close(), objects.Close(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("serve repository %s: %w", root, err)
	}
	return nil
}

// serve runs a server until ctx ends, lets requests finish for a moment, and
// then cuts them.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerWithin}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	err := s.Shutdown(bye)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// listen refuses addresses that others than the pod itself could reach.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; give a loopback address such as 127.0.0.1:8600", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %q: it is no loopback address, so anybody could write; use 127.0.0.1", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}
