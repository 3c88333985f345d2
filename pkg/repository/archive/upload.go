package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// uploads is how many parts are under way at once; each holds store.PartSize bytes.
const uploads = 3

// upload writes one object: what is written to it is encrypted, hashed and cut into parts.
type upload struct {
	ctx     context.Context
	store   store.Store
	key     string
	options store.Options

	// in is where the caller's bytes go: to age, or to the parts directly.
	in        io.Writer
	encrypter io.Closer

	sum hash.Hash
	// hashed is closed once all parts so far are in sum: they are hashed in order, while later ones are encrypted.
	hashed chan struct{}
	bytes  int64
	// head are the first bytes as they are stored; what age encrypts begins differently each time.
	head  []byte
	part  []byte
	parts int

	multi   store.Upload
	group   *errgroup.Group
	running context.Context
	free    chan []byte
}

// newUpload begins an object. Nothing is sent before a part is full. ctx bounds all of it.
func newUpload(ctx context.Context, s store.Store, key string, o store.Options, to []age.Recipient) (*upload, error) {
	u := &upload{ctx: ctx, store: s, key: key, options: o, sum: sha256.New(), hashed: make(chan struct{}),
		free: make(chan []byte, uploads+1)}
	close(u.hashed)
	u.group, u.running = errgroup.WithContext(ctx)
	for range cap(u.free) {
		u.free <- nil // made when it is needed: most objects are small
	}
	u.in = stored{u}
	if len(to) > 0 {
		w, err := age.Encrypt(stored{u}, to...)
		if err != nil {
			return nil, fmt.Errorf("encrypt %s: %w", key, err)
		}
		u.in, u.encrypter = w, w
	}
	return u, nil
}

// Write takes bytes of the object's content.
func (u *upload) Write(p []byte) (int, error) { return u.in.Write(p) }

// stored takes the bytes as they are stored.
type stored struct{ u *upload }

func (s stored) Write(p []byte) (int, error) {
	u := s.u
	u.bytes += int64(len(p))
	u.head = append(u.head, p[:min(len(p), headBytes-len(u.head))]...)
	for rest := p; len(rest) > 0; {
		if u.part == nil {
			u.part = u.buffer()
		}
		n := min(len(rest), store.PartSize-len(u.part))
		u.part = append(u.part, rest[:n]...)
		rest = rest[n:]
		if len(u.part) == store.PartSize {
			if err := u.send(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), u.running.Err()
}

// buffer waits for one that is not under way.
func (u *upload) buffer() []byte {
	b := <-u.free
	if b == nil {
		b = make([]byte, 0, store.PartSize)
	}
	return b[:0]
}

func (u *upload) send() error {
	if u.multi == nil {
		multi, err := u.store.Upload(u.ctx, u.key, u.options)
		if err != nil {
			return err
		}
		u.multi = multi
	}
	n, body := u.parts, u.part
	before, hashed := u.hashed, make(chan struct{})
	u.parts, u.part, u.hashed = n+1, nil, hashed
	u.group.Go(func() error {
		defer func() { u.free <- body }()
		<-before
		u.sum.Write(body)
		close(hashed)
		return u.multi.Part(u.running, n, body)
	})
	return nil
}

// commit makes the object visible and says what it is. A small one takes a single request.
func (u *upload) commit() (bytes int64, sum string, err error) {
	if u.encrypter != nil {
		err = u.encrypter.Close()
	}
	if err == nil && u.multi == nil {
		u.sum.Write(u.part)
		err = u.store.Put(u.ctx, u.key, u.part, u.options)
	} else if err == nil {
		if len(u.part) > 0 {
			err = u.send()
		}
		if err = errors.Join(u.group.Wait(), err); err == nil {
			err = u.multi.Commit(u.ctx, u.parts)
		}
	}
	if err != nil {
		return 0, "", errors.Join(err, u.abort())
	}
	return u.bytes, hex.EncodeToString(u.sum.Sum(nil)), nil
}

// abort drops what was sent. A store that is out of reach sweeps it later.
func (u *upload) abort() error {
	failed := u.group.Wait()
	if u.multi == nil {
		return failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortWithin)
	defer cancel()
	_ = u.multi.Abort(ctx)
	return failed
}
