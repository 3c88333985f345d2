package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// LogKeeper is what the service needs of a driver whose server keeps files of its log until they are archived.
type LogKeeper interface {
	// LogFiles are the files that wait, oldest first. None of them belongs to a history that was given up.
	LogFiles(ctx context.Context) (LogFiles, error)
	// ReadLog returns one of them.
	ReadLog(ctx context.Context, name string) (LogFile, []byte, error)
	// ConfirmLog lets one go: the archive has a file of that name whose SHA-256 begins so. Other bytes are Refused.
	ConfirmLog(ctx context.Context, name, sum string) error
}

// LogFiles is what one member keeps for the archive.
type LogFiles struct {
	// Timeline is the history that the member follows.
	Timeline uint64   `json:"timeline"`
	Names    []string `json:"names,omitempty"`
}

// LogFile describes a file of the log to an archive. A file follows another one if it starts where that ends.
type LogFile struct {
	Name     string `json:"name"`
	Timeline string `json:"timeline"`
	Start    string `json:"start,omitempty"`
	End      string `json:"end,omitempty"`
	// Time is that of its last commit; zero if it has none.
	Time time.Time `json:"time,omitzero"`
}

// ConfirmedLog says what the archive has.
type ConfirmedLog struct {
	SHA256 string `json:"sha256"`
}

// describedLog holds the description of a file that is sent.
const describedLog = "Dbop-Log"

// mostLog bounds a file of the log.
const mostLog = 64 << 20

// handleLog adds the requests about the log of this very member.
func (s *Service) handleLog(mux *http.ServeMux) {
	keeper := func(do func(LogKeeper, http.ResponseWriter, *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if s.Log == nil {
				finish(w, Refused{Why: "this member has no log to archive"})
				return
			}
			do(s.Log, w, r)
		}
	}
	mux.HandleFunc("GET /v1/log", keeper(func(k LogKeeper, w http.ResponseWriter, r *http.Request) {
		files, err := k.LogFiles(r.Context())
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, files)
	}))
	mux.HandleFunc("GET /v1/log/{name}", keeper(func(k LogKeeper, w http.ResponseWriter, r *http.Request) {
		file, body, err := k.ReadLog(r.Context(), r.PathValue("name"))
		if err != nil {
			finish(w, err)
			return
		}
		sendLog(w, file, body)
	}))
	mux.HandleFunc("PUT /v1/log/{name}", keeper(func(k LogKeeper, w http.ResponseWriter, r *http.Request) {
		if body, ok := read[ConfirmedLog](w, r); ok {
			finish(w, k.ConfirmLog(r.Context(), r.PathValue("name"), body.SHA256))
		}
	}))
}

func sendLog(w http.ResponseWriter, file LogFile, body []byte) {
	said, err := json.Marshal(file)
	if err != nil {
		finish(w, fmt.Errorf("describe %s: %w", file.Name, err))
		return
	}
	w.Header().Set(describedLog, string(said))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // who asked may be gone
}

// LogFiles asks this very member which files of its log wait for the archive.
func (c *Client) LogFiles(ctx context.Context) (LogFiles, error) {
	var out LogFiles
	return out, c.do(ctx, http.MethodGet, "/v1/log", nil, &out)
}

// ReadLog reads one of them, whole.
func (c *Client) ReadLog(ctx context.Context, name string) (LogFile, []byte, error) {
	var out LogFile
	got, err := c.send(ctx, http.MethodGet, "/v1/log/"+name, nil)
	if err != nil {
		return out, nil, err
	}
	defer got.Body.Close() //nolint:errcheck // it was read, or is given up
	if got.StatusCode != http.StatusOK {
		return out, nil, c.take(got, nil)
	}
	if err := json.Unmarshal([]byte(got.Header.Get(describedLog)), &out); err != nil {
		return out, nil, fmt.Errorf("read %s of %s: %w", name, c.name, err)
	}
	if got.ContentLength < 0 || got.ContentLength > mostLog {
		return out, nil, fmt.Errorf("read %s of %s: its agent announces %d bytes", name, c.name, got.ContentLength)
	}
	body := make([]byte, got.ContentLength)
	if _, err := io.ReadFull(got.Body, body); err != nil {
		return out, nil, fmt.Errorf("read %s of %s: %w", name, c.name, err)
	}
	return out, body, nil
}

// ConfirmLog tells this very member what the archive has, so that it need not keep that file any longer.
func (c *Client) ConfirmLog(ctx context.Context, name, sum string) error {
	return c.do(ctx, http.MethodPut, "/v1/log/"+name, ConfirmedLog{SHA256: sum}, nil)
}
