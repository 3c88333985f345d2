package api

import (
	"context"
	"net/http"
)

// Checker is what a Copier also is whose database has a program that finds damage in its data.
type Checker interface {
	// CheckData has that program run. It may write to the database: it is for members that are thrown away.
	CheckData(ctx context.Context) (DataCheck, error)
}

// DataCheck is what a program of the database found.
type DataCheck struct {
	// By says what was checked, and by which program; "" where there is no program.
	By string `json:"by,omitempty"`
	// Problems name what is damaged, in one line each.
	Problems []string `json:"problems,omitempty"`
}

// handleChecks adds the request that finds damage.
func (s *Service) handleChecks(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/check", func(w http.ResponseWriter, r *http.Request) {
		var out DataCheck
		if c, ok := s.Copier.(Checker); ok {
			var err error
			if out, err = c.CheckData(r.Context()); err != nil {
				finish(w, err)
				return
			}
		}
		answer(w, http.StatusOK, out)
	})
}

// CheckData has this very member check its data for damage. An agent of before this request existed has no program.
func (c *Client) CheckData(ctx context.Context) (DataCheck, error) {
	got, err := c.send(ctx, http.MethodPost, "/v1/check", nil)
	if err != nil {
		return DataCheck{}, err
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	if got.StatusCode == http.StatusNotFound {
		return DataCheck{}, nil
	}
	var out DataCheck
	return out, c.take(got, &out)
}
