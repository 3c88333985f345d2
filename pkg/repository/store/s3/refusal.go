package s3

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// mostRefusal bounds what a store says of why it refuses a request.
const mostRefusal = 1 << 20

// refusals reads what a store says of a refusal before anybody is told of it. A store that refuses a request may close
// the connection before it has read the body, and the rest of its answer is lost with that: such an answer counts as
// none, so that the library asks again.
type refusals struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t refusals) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostRefusal))
	_ = answer.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read why the store answered %q: %w", answer.Status, err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, nil
}
