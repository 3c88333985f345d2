package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Copier is what the service needs of a driver that copies the data of its server while that runs.
type Copier interface {
	// Copy writes a whole copy of the data, in the format of the engine's backups. After an error what was written is
	// worthless. A Refused before the first byte says what can't be copied.
	Copy(ctx context.Context, w io.Writer) error
	// Contents describes the data, to be compared with that of a backup.
	Contents(ctx context.Context) (Contents, error)
}

// Contents describes a body of data in words of its engine.
type Contents struct {
	// Proof is the same for the same data; "" proves nothing.
	Proof string `json:"proof,omitempty"`
	// Readings describe the data to people.
	Readings []Reading `json:"readings,omitempty"`
}

// Reading is one value with its name.
type Reading struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// The end of a copy: exactly one of them follows the last byte. A stream without either was cut.
const (
	// copied is the number of bytes of a whole copy.
	copied = "Dbop-Copied"
	// failed says why the copy is worthless.
	failed = "Dbop-Failed"
)

// stalled is how long nobody may take a byte of a copy before it ends: a copy keeps files of the server from going.
const stalled = 2 * time.Minute

// handleCopies adds the requests about the data of this very member.
func (s *Service) handleCopies(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/copy", func(w http.ResponseWriter, r *http.Request) {
		if s.Copier == nil {
			finish(w, Refused{Why: "this member has no data to copy"})
			return
		}
		s.copy(w, r, s.Copier.Copy)
	})
	mux.HandleFunc("GET /v1/contents", func(w http.ResponseWriter, r *http.Request) {
		if s.Copier == nil {
			finish(w, Refused{Why: "this member has no data to describe"})
			return
		}
		c, err := s.Copier.Contents(r.Context())
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, c)
	})
}

// copy streams what is written, and what became of it.
func (s *Service) copy(w http.ResponseWriter, r *http.Request, write func(context.Context, io.Writer) error) {
	out := &copyWriter{w: w, control: http.NewResponseController(w)}
	err := s.reached(r)
	if err == nil {
		err = write(r.Context(), out)
	}
	switch {
	case err != nil && out.bytes == 0:
		finish(w, err)
	case err != nil:
		w.Header().Set(failed, oneLine(err.Error()))
	default:
		out.begin()
		w.Header().Set(copied, strconv.FormatInt(out.bytes, 10))
	}
}

// oneLine is a text as a header may hold it.
func oneLine(text string) string {
	out := []rune(text)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = ' '
		}
	}
	return string(out[:min(len(out), 1000)])
}

// copyWriter starts the answer with the first byte, and fails once nobody takes any.
type copyWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	started bool
	bytes   int64
}

func (c *copyWriter) begin() {
	if c.started {
		return
	}
	c.started = true
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.Header().Set("Trailer", copied+", "+failed)
	c.w.WriteHeader(http.StatusOK)
}

func (c *copyWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.begin()
	if err := c.control.SetWriteDeadline(time.Now().Add(stalled)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("send a copy: %w", err)
	}
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	if err != nil {
		return n, fmt.Errorf("send a copy: %w", err)
	}
	return n, nil
}

// Copy writes a copy of the data of this very member to w. Only without an error it is whole.
func (c *Client) Copy(ctx context.Context, w io.Writer) error { return c.CopyUpTo(ctx, 0, w) }

// CopyUpTo does the same once the member has all up to a place in the log; 0 for any.
func (c *Client) CopyUpTo(ctx context.Context, place uint64, w io.Writer) error {
	return c.stream(ctx, "/v1/copy", place, w)
}

func (c *Client) stream(ctx context.Context, path string, place uint64, w io.Writer) error {
	if place > 0 {
		path += "?" + upTo + "=" + strconv.FormatUint(place, 10)
	}
	got, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer got.Body.Close() //nolint:errcheck // it was read, or is given up
	if got.StatusCode != http.StatusOK {
		return c.take(got, nil)
	}
	n, err := io.Copy(w, got.Body)
	if err != nil {
		return fmt.Errorf("copy the data of %s: after %d bytes: %w", c.name, n, err)
	}
	if why := got.Trailer.Get(failed); why != "" {
		return fmt.Errorf("copy the data of %s: its agent failed after %d bytes: %s", c.name, n, why)
	}
	if said := got.Trailer.Get(copied); said != strconv.FormatInt(n, 10) {
		return fmt.Errorf("copy the data of %s: the stream was cut: %d bytes arrived, its agent said %q", c.name, n, said)
	}
	return nil
}

// Contents asks this very member what its data is.
func (c *Client) Contents(ctx context.Context) (Contents, error) {
	var out Contents
	return out, c.do(ctx, http.MethodGet, "/v1/contents", nil, &out)
}
