package gcs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// transfer sends the next bytes of an upload, as many of them as the store lacks; total is the size of the object, or
// "*". Where a connection broke, now or in an earlier call for the same bytes, the store is asked what it has, and the
// rest is sent. ended says that the store made
// the object. The caller holds the lock.
func (u *upload) transfer(ctx context.Context, body []byte, total string) (made resource, ended bool, err error) {
	s, have, asking := u.store, 0, u.unsure
	defer func() { u.unsure = err != nil }()
	for attempt := 1; ; attempt++ {
		var r *http.Response
		if asking {
			r, err = s.once(ctx, u.call(nil, "bytes */"+total))
		} else {
			r, err = s.once(ctx, u.call(body[have:], u.span(have, len(body), total)))
		}
		if err != nil {
			if attempt == attempts || !passing(err) || !s.pause(ctx, attempt) {
				return made, false, err
			}
			asking = true
			continue
		}
		if r.StatusCode != http.StatusPermanentRedirect {
			return made, true, read(r, &made)
		}
		before := have
		if have, err = u.taken(r, before, len(body)); err != nil {
			return made, false, err
		}
		switch {
		case have == len(body) && (total == "*" || !asking):
			return made, false, nil
		case have > before:
			attempt = 0 // it moves
		case attempt == attempts || !asking && !s.pause(ctx, attempt):
			return made, false, errors.New("the store takes no more bytes")
		}
		asking = false
	}
}

// taken reads from an answer how many bytes of the part the store has; at least as many as before.
func (u *upload) taken(r *http.Response, before, size int) (int, error) {
	reached, err := reached(r.Header.Get("Range"))
	if err = errors.Join(err, read(r, nil)); err != nil {
		return 0, err
	}
	if have := reached - u.sent; have >= int64(before) && have <= int64(size) {
		return int(have), nil
	}
	return 0, fmt.Errorf("the store has %d bytes of the upload, and had %d", reached, u.sent+int64(before))
}

func (u *upload) call(body []byte, span string) call {
	return call{method: http.MethodPut, path: u.session.EscapedPath(), query: u.session.Query(), body: body,
		header: map[string]string{"Content-Range": span}}
}

// span says which bytes of the object are sent.
func (u *upload) span(from, to int, total string) string {
	if from == to {
		return "bytes */" + total
	}
	return fmt.Sprintf("bytes %d-%d/%s", u.sent+int64(from), u.sent+int64(to)-1, total)
}

// reached reads how many bytes the store has. It names the last one, and nothing if there is none.
func reached(header string) (int64, error) {
	if header == "" {
		return 0, nil
	}
	last, err := strconv.ParseInt(strings.TrimPrefix(header, "bytes=0-"), 10, 64)
	if err != nil || last < 0 {
		return 0, fmt.Errorf("the store says that it has the bytes %.100q", header)
	}
	return last + 1, nil
}
