package api

import (
	"context"
	"net/http"
)

// SettingLister is what a Tuner also is whose server tells which settings it has.
type SettingLister interface {
	// ListSettings asks the server, in the order of names. It changes nothing.
	ListSettings(ctx context.Context) ([]Setting, error)
}

// Setting is one that the server has.
type Setting struct {
	Name string `json:"name"`
	// Kind of value, and the Allowed ones, in words; "" where the server does not tell.
	Kind    string `json:"kind,omitempty"`
	Allowed string `json:"allowed,omitempty"`
	// Default is the server's own, Value the one of this member.
	Default string `json:"default,omitempty"`
	Value   string `json:"value,omitempty"`
	// AtStart: the server takes it only when it starts.
	AtStart bool `json:"atStart,omitempty"`
	// Given: a file or the command line of the server names it.
	Given bool `json:"given,omitempty"`
	// Kept: it belongs to the agent. Its value is not told: it may be a secret.
	Kept bool `json:"kept,omitempty"`
}

// handleSettings adds the request that lists the settings of the server.
func (s *Service) handleSettings(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/settings", func(w http.ResponseWriter, r *http.Request) {
		lister, ok := s.Tuner.(SettingLister)
		if !ok {
			finish(w, Refused{Why: "this member has no settings"})
			return
		}
		all, err := lister.ListSettings(r.Context())
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, all)
	})
}

// ListSettings asks this very member which settings its server has. known is false of an agent of before this request
// existed.
func (c *Client) ListSettings(ctx context.Context) (all []Setting, known bool, err error) {
	got, err := c.send(ctx, http.MethodGet, "/v1/settings", nil)
	if err != nil {
		return nil, false, err
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	if got.StatusCode == http.StatusNotFound || got.StatusCode == http.StatusMethodNotAllowed {
		return nil, false, nil
	}
	return all, true, c.take(got, &all)
}
