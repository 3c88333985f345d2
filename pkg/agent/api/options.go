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
	// Overridden: somebody set it on this server alone, past what the members agree on.
	Overridden bool `json:"overridden,omitempty"`
	// Kept: it belongs to the agent. Its value is not told: it may be a secret.
	Kept bool `json:"kept,omitempty"`
}

// Overrider is what a Tuner also is whose server takes settings past what the members agree on.
type Overrider interface {
	// TakeBack takes all of them back, on this member. A repeat has no effect.
	TakeBack(ctx context.Context) error
}

// handleSettings adds the requests that list the settings of the server, and take back what was set on it alone.
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
	mux.HandleFunc("DELETE /v1/overrides", func(w http.ResponseWriter, r *http.Request) {
		o, ok := s.Tuner.(Overrider)
		if !ok {
			finish(w, Refused{Why: "nobody sets anything on this member alone"})
			return
		}
		err := o.TakeBack(r.Context())
		s.measureAgain()
		finish(w, err)
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
	err = c.take(got, &all)
	return all, true, err
}

// TakeBack has this very member take back what was set on its server alone. A repeat has no effect.
func (c *Client) TakeBack(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "/v1/overrides", nil, nil)
}
