package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxAnswer bounds an error body; a longer one is no answer of ours.
const maxAnswer = 256 << 10

// internal is the code of an error that no kind of the table matches.
const internal = "internal"

// Kind ties an error to the code that means it on the wire. Codes are
// stable: an old client talks to a new server.
type Kind struct {
	Code   string
	Status int
	Err    error
}

// Table lists the kinds that two sides agree on. The first match wins.
type Table []Kind

// Fault is an error that came from the other side. errors.Is matches it with
// the error of its kind.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	kind    error
}

func (f *Fault) Error() string { return f.Message }

// Unwrap returns the error of the kind, nil if the code is not known here.
func (f *Fault) Unwrap() error { return f.kind }

// Pack returns what is sent for an error.
func (t Table) Pack(err error) (*Fault, int) {
	for _, k := range t {
		if errors.Is(err, k.Err) {
			return &Fault{Code: k.Code, Message: err.Error(), kind: k.Err}, k.Status
		}
	}
	return &Fault{Code: internal, Message: err.Error()}, http.StatusInternalServerError
}

// Unpack gives a received fault its meaning back.
func (t Table) Unpack(f Fault) *Fault {
	f.kind = nil
	for _, k := range t {
		if k.Code == f.Code {
			f.kind = k.Err
			break
		}
	}
	return &f
}

// Refuse answers a request with an error.
func (t Table) Refuse(w http.ResponseWriter, err error) {
	f, status := t.Pack(err)
	Answer(w, status, f)
}

// Answer sends v as JSON. A client that is gone is not an error here: it
// learns nothing, and asks again.
func Answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // it ends before its handler does
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Check returns nil for a success, and otherwise the error that the body
// carries, having closed the body.
func (t Table) Check(resp *http.Response) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the error behind status %s: %w", resp.Status, err)
	}
	var f Fault
	if err := json.Unmarshal(body, &f); err != nil || f.Code == "" {
		return fmt.Errorf("unexpected answer %s: %q; is this port really served by this tool?", resp.Status, clip(body))
	}
	return t.Unpack(f)
}

func clip(body []byte) string {
	const most = 200
	if len(body) > most {
		return string(body[:most]) + "..."
	}
	return string(body)
}
