package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// errAborted ends parts that wait.
var errAborted = errors.New("the upload was aborted")

// Upload begins a resumable upload, which nobody sees before it ends.
func (s *Store) Upload(ctx context.Context, key string, o store.Options) (store.Upload, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	if err := s.unretained(key, o); err != nil {
		return nil, err
	}
	session, err := s.session(ctx, key)
	if err != nil {
		return nil, s.explain(ctx, err, "begin "+key)
	}
	u := &upload{store: s, key: key, session: session}
	u.changed = sync.NewCond(&u.mu)
	return u, nil
}

// session begins an upload and returns the path and the query by which it goes on.
func (s *Store) session(ctx context.Context, key string) (*url.URL, error) {
	about, err := json.Marshal(map[string]string{"name": s.prefix + key})
	if err != nil {
		return nil, err
	}
	r, err := s.do(ctx, call{method: http.MethodPost, path: "/upload" + s.objects(), body: about,
		query:  url.Values{"uploadType": {"resumable"}, "name": {s.prefix + key}, "ifGenerationMatch": {absent}},
		header: map[string]string{"Content-Type": "application/json"}})
	if err != nil {
		return nil, err
	}
	if err := read(r, nil); err != nil {
		return nil, err
	}
	at, err := url.Parse(r.Header.Get("Location"))
	if err != nil || at.Query().Get("upload_id") == "" || !strings.HasPrefix(at.Path, "/") {
		return nil, errors.New("the store does not say where the upload goes on")
	}
	return at, nil
}

// upload is sent in order, one part after the other, as the protocol demands.
type upload struct {
	store *Store
	key   string
	// session is secret: who has it can write.
	session *url.URL

	mu sync.Mutex
	// changed wakes parts that wait for others.
	changed *sync.Cond
	// next is the part that is sent next; sent is how many bytes the store has.
	next int
	sent int64
	sum  uint32
	// last is the part that is not full. It is kept for Commit: it would end the upload.
	last     []byte
	lastPart int
	// unsure: the store may have some of the bytes that are sent next.
	unsure bool
	// broken ends all that follow.
	broken   error
	finished bool
}

func (u *upload) Part(ctx context.Context, n int, body []byte) error {
	err := u.part(ctx, n, body)
	return u.store.explain(ctx, err, fmt.Sprintf("write part %d of %s", n, u.key))
}

func (u *upload) part(ctx context.Context, n int, body []byte) error {
	if n < 0 || len(body) > store.PartSize {
		return fmt.Errorf("it has %d bytes, more than %d", len(body), store.PartSize)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(body) < store.PartSize {
		u.last, u.lastPart = bytes.Clone(body), n
		return ctx.Err()
	}
	stop := context.AfterFunc(ctx, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.changed.Broadcast()
	})
	defer stop()
	for u.next < n && u.broken == nil && ctx.Err() == nil {
		u.changed.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case u.broken != nil:
		return u.broken
	case n < u.next:
		return fmt.Errorf("part %d was sent already", n)
	}
	// The lock is held: nothing else of this upload could be sent meanwhile.
	if err := u.send(ctx, body); err != nil {
		if unanswered(err) {
			return err // the same part may be sent again
		}
		u.broken = err
	}
	u.next++
	u.changed.Broadcast()
	return u.broken
}

// send sends a part that is not the last one.
func (u *upload) send(ctx context.Context, body []byte) error {
	_, _, err := u.transfer(ctx, body, "*")
	if err == nil {
		u.add(body)
	}
	return err
}

func (u *upload) add(body []byte) {
	u.sum = crc32.Update(u.sum, crc32.MakeTable(crc32.Castagnoli), body)
	u.sent += int64(len(body))
}

func (u *upload) Commit(ctx context.Context, parts int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.store.explain(ctx, u.commit(ctx, parts), "write "+u.key)
}

func (u *upload) commit(ctx context.Context, parts int) error {
	have := u.next
	if u.last != nil && u.lastPart == u.next {
		have++
	}
	switch {
	case u.broken != nil:
		return u.broken
	case u.finished:
		return errors.New("the upload is finished")
	case have != parts || u.last != nil && u.lastPart != u.next:
		return fmt.Errorf("%d parts of %d are there", have, parts)
	}
	made, ended, err := u.transfer(ctx, u.last, strconv.FormatInt(u.sent+int64(len(u.last)), 10))
	if err != nil {
		return err
	}
	if !ended {
		return errors.New("the store has all bytes, and makes no object of them")
	}
	u.add(u.last)
	u.finished = true
	if made.CRC32C == encoded(u.sum) && made.Size == u.sent {
		return nil
	}
	return u.store.dropOther(ctx, u.key, made, u.sent, encoded(u.sum))
}

// dropOther removes what the store made, and that generation alone: it is not what was sent.
func (s *Store) dropOther(ctx context.Context, key string, made resource, size int64, sum string) error {
	return errors.Join(fmt.Errorf("the store has %d bytes with the checksum %q instead of %d with %q", made.Size,
		made.CRC32C, size, sum), s.ask(ctx, call{method: http.MethodDelete, path: s.path(key),
		query: url.Values{"ifGenerationMatch": {made.Generation}}}, nil))
}

// Abort has the store forget the session; one that is out of reach does within a week by itself.
func (u *upload) Abort(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.finished || errors.Is(u.broken, errAborted) {
		return nil
	}
	u.broken = errAborted
	u.changed.Broadcast()
	_, err := u.store.once(ctx, call{method: http.MethodDelete, path: u.session.EscapedPath(), query: u.session.Query()})
	var answer *answerError
	if errors.As(err, &answer) && (answer.status == statusCanceled || answer.status == http.StatusNotFound ||
		answer.status == http.StatusGone) {
		return nil
	}
	return u.store.explain(ctx, err, "drop unfinished "+u.key)
}

// statusCanceled is how the store says that a session is gone, as was asked for.
const statusCanceled = 499
