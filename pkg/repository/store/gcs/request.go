package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// attempts bounds how often a request is made while the store is busy or out of reach; they wait some 6 seconds.
	attempts  = 6
	firstWait = 200 * time.Millisecond
	// answerSize bounds what is read of an answer that is no object: a page of a listing is the largest.
	answerSize = 16 << 20
)

// call is one request.
type call struct {
	method string
	// path begins with a slash, and is escaped.
	path   string
	query  url.Values
	header map[string]string
	body   []byte
}

// answerError is an answer that tells of a failure.
type answerError struct {
	status          int
	reason, message string
	// bucket: no object was asked for, so what is not there is the bucket.
	bucket bool
}

func (e *answerError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the store answers %d %s %.300q", e.status, e.reason, e.message))
}

// errToken: the request was never made.
var errToken = errors.New("get a token for the store")

// do makes a request until it succeeds or can't. The caller closes the body of the answer.
func (s *Store) do(ctx context.Context, c call) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		r, err := s.once(ctx, c)
		if err == nil || attempt == attempts || !passing(err) || !s.pause(ctx, attempt) {
			return r, err
		}
	}
}

// pause waits twice as long before each attempt. It reports whether there is reason to go on.
func (s *Store) pause(ctx context.Context, attempt int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(s.wait << (attempt - 1)):
		return true
	}
}

// once makes a request. What is no success is an answerError; 308 is one to a PUT alone: the upload goes on.
func (s *Store) once(ctx context.Context, c call) (*http.Response, error) {
	at := *s.endpoint
	query := ""
	if len(c.query) > 0 {
		query = "?" + c.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, c.method, at.Scheme+"://"+at.Host+c.path+query,
		bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	token, err := s.tokens.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errToken, err)
	}
	token.SetAuthHeader(request)
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	r, err := s.client.Do(request) //nolint:bodyclose // the caller does
	if err != nil {
		return nil, err
	}
	goesOn := r.StatusCode == http.StatusPermanentRedirect && c.method == http.MethodPut
	if r.StatusCode < http.StatusMultipleChoices || goesOn {
		return r, nil
	}
	defer func() { _ = r.Body.Close() }()
	failed := &answerError{status: r.StatusCode, bucket: c.method != http.MethodPut && strings.HasSuffix(c.path, "/o")}
	var body struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	content, _ := io.ReadAll(io.LimitReader(r.Body, answerSize))
	if json.Unmarshal(content, &body) == nil {
		failed.message = body.Error.Message
		for _, e := range body.Error.Errors {
			failed.reason = e.Reason
		}
	}
	return nil, failed
}

// ask makes a request and reads its answer into out, unless that is nil.
func (s *Store) ask(ctx context.Context, c call, out any) error {
	r, err := s.do(ctx, c)
	if err != nil {
		return err
	}
	return read(r, out)
}

func read(r *http.Response, out any) error {
	defer func() { _ = r.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(r.Body, answerSize))
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("read the answer of the store: %w", err)
	}
	return nil
}

// statusOf is that of the answer that an error tells of; 0 for none.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*answerError](err); ok {
		return answer.status
	}
	return 0
}

// passing reports whether a failure may pass. What a connection ended, or what the store did not answer in time, is
// repeated: objects are put only if absent. Whether the caller has time left, pause tells.
func passing(err error) bool {
	var answer *answerError
	var refused *oauth2.RetrieveError
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &refused) && refused.Response != nil:
		return store.Busy(refused.Response.StatusCode)
	case errors.Is(err, errToken):
		return false
	case errors.As(err, &answer):
		return store.Busy(answer.status)
	}
	return true
}

// unanswered reports whether the store, or who gives tokens for it, did not answer.
func unanswered(err error) bool {
	return passing(err) && (errors.Is(err, errToken) || store.Unreachable(err, statusOf(err)))
}

// explain says what was attempted where, in the words of package store.
func (s *Store) explain(ctx context.Context, err error, attempt string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), errors.Join(ctx.Err(), err))
	}
	var answer *answerError
	if !errors.As(err, &answer) {
		answer = &answerError{}
	}
	var typed error
	switch {
	case answer.status == http.StatusNotFound && (answer.bucket || strings.Contains(answer.message, "bucket")):
		return fmt.Errorf("%s in %s: there is no bucket %s; make it, or correct the name: %w", attempt, s.URL(),
			s.bucket, err)
	case answer.status == http.StatusPreconditionFailed:
		typed = store.ErrExists
	case answer.reason == "retentionPolicyNotMet", answer.reason == "objectUnderActiveHold":
		typed = store.ErrRetained
	case answer.status == http.StatusNotFound:
		typed = store.ErrNotFound
	case answer.status == http.StatusForbidden, answer.status == http.StatusUnauthorized,
		errors.Is(err, errToken) && !passing(err):
		typed = store.ErrDenied
	case answer.status == http.StatusInsufficientStorage, answer.reason == "quotaExceeded":
		typed = store.ErrFull
	case unanswered(err):
		typed = store.ErrUnreachable
	default:
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), err)
	}
	return fmt.Errorf("%s in %s: %w: %w", attempt, s.URL(), typed, err)
}
