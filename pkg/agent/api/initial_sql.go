package api

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// InitialSQL is what an empty database is given once. It is never logged.
type InitialSQL struct {
	// Role is what the user has who shall own what is made. Database is the one of that user; "" is the database that the
	// driver makes for applications.
	Role     string `json:"role"`
	Database string `json:"database,omitempty"`
	// Statements are carried out in one transaction.
	Statements string `json:"statements"`
}

// NotAccepted is what the server said of statements that it does not carry out: repeating them does not help.
type NotAccepted struct{ Why string }

func (e NotAccepted) Error() string { return e.Why }

// SQLRunner is what the service needs of the driver of an engine that speaks SQL.
type SQLRunner interface {
	// RunOnce carries out statements unless that was done in this database before. All are done or none. What the server
	// does not accept is a NotAccepted.
	RunOnce(ctx context.Context, body InitialSQL) error
}

// sqlTime bounds the initial SQL.
const sqlTime = 10 * time.Minute

// ranOnce is the answer.
type ranOnce struct {
	NotAccepted string `json:"notAccepted,omitempty"`
}

// handleSQL adds the request about SQL.
func (s *Service) handleSQL(mux *http.ServeMux) {
	runner, ok := s.Users.(SQLRunner)
	if !ok {
		return
	}
	mux.HandleFunc("POST /v1/initial-sql", s.onPrimaryWithin(sqlTime, func(w http.ResponseWriter, r *http.Request) {
		body, ok := read[InitialSQL](w, r)
		if !ok {
			return
		}
		err := runner.RunOnce(r.Context(), body)
		if refused, ok := errors.AsType[NotAccepted](err); ok {
			answer(w, http.StatusOK, ranOnce{NotAccepted: refused.Why})
			return
		}
		finish(w, err)
	}))
}

// InitialSQL asks the primary to carry out statements once. What the server does not accept is told as why.
func (c *Client) InitialSQL(ctx context.Context, body InitialSQL) (why string, err error) {
	var out ranOnce
	err = c.do(ctx, http.MethodPost, "/v1/initial-sql", body, &out)
	return out.NotAccepted, err
}
