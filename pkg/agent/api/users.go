package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// User is a user of the database.
type User struct {
	Name string `json:"name"`
	// Admin may do everything.
	Admin bool `json:"admin,omitempty"`
	// Role holds what several users may do alike; "" of an administrator.
	Role string `json:"role,omitempty"`
	// Grants say what the user may read or change. An empty name is the database that the driver makes for applications.
	Grants []Grant `json:"grants,omitempty"`
}

// Grant is a part of the data.
type Grant struct {
	Name     string `json:"name,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// NewUser is a user with the password that it shall have. It is never logged.
type NewUser struct {
	User
	Password string `json:"password"`
}

// login asks whether a user may log in.
type login struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

// Users is what the service needs of the driver of an engine with users. All but Users are asked of the
// primary alone. An answer of the server that forbids something is a Refused.
type Users interface {
	Users(ctx context.Context) ([]User, error)
	// EnsureUser makes a user, with these grants and no others. A password that is the user's already is not set again.
	EnsureUser(ctx context.Context, u NewUser) error
	// DeleteUser removes a user, and its role once nobody has it; again has no effect.
	DeleteUser(ctx context.Context, name string) error
	// TestLogin says whether the server lets a user in by that password, the way clients come.
	TestLogin(ctx context.Context, name, password string) (bool, error)
}

// UserJudge is what the service needs of a driver that can tell what EnsureUser would do.
type UserJudge interface {
	// HasUser says whether EnsureUser would leave a user as it is, but for its password. It changes nothing.
	HasUser(ctx context.Context, u User) (bool, error)
}

// SessionEnder is what the service needs of a driver whose server goes on with the sessions of a user that was deleted.
type SessionEnder interface {
	// EndSessions ends the sessions of a deleted user, on this member. A repeat has no effect.
	EndSessions(ctx context.Context, user string) error
}

// handleUsers adds the requests about users.
func (s *Service) handleUsers(mux *http.ServeMux) {
	if s.Users == nil {
		return
	}
	mux.HandleFunc("GET /v1/users", s.onPrimary(func(w http.ResponseWriter, r *http.Request) {
		users, err := s.Users.Users(r.Context())
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, users)
	}))
	mux.HandleFunc("PUT /v1/users/{name}", s.onPrimary(func(w http.ResponseWriter, r *http.Request) {
		var u NewUser
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Name != r.PathValue("name") {
			finish(w, Refused{Why: "the request can't be read"}) // what is wrong with it could tell of the password
			return
		}
		finish(w, s.Users.EnsureUser(r.Context(), u))
	}))
	mux.HandleFunc("DELETE /v1/users/{name}", s.onPrimary(func(w http.ResponseWriter, r *http.Request) {
		finish(w, s.Users.DeleteUser(r.Context(), r.PathValue("name")))
	}))
	if judge, ok := s.Users.(UserJudge); ok {
		mux.HandleFunc("POST /v1/users/{name}", s.onPrimary(func(w http.ResponseWriter, r *http.Request) {
			var u User
			if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Name != r.PathValue("name") {
				finish(w, Refused{Why: "the request can't be read"})
				return
			}
			has, err := judge.HasUser(r.Context(), u)
			if err != nil {
				finish(w, err)
				return
			}
			answer(w, http.StatusOK, has)
		}))
	}
	if ender, ok := s.Users.(SessionEnder); ok {
		mux.HandleFunc("DELETE /v1/sessions/{name}", func(w http.ResponseWriter, r *http.Request) {
			finish(w, ender.EndSessions(r.Context(), r.PathValue("name")))
		})
	}
	// A replica may not know a user yet that the primary has made.
	mux.HandleFunc("POST /v1/logins", s.onPrimary(func(w http.ResponseWriter, r *http.Request) {
		var l login
		if err := json.NewDecoder(r.Body).Decode(&l); err != nil {
			finish(w, Refused{Why: "the request can't be read"})
			return
		}
		accepted, err := s.Users.TestLogin(r.Context(), l.Name, l.Password)
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, accepted)
	}))
}

// onPrimary has the agent of the primary do something, wherever the request came in.
func (s *Service) onPrimary(do http.HandlerFunc) http.HandlerFunc {
	return s.onPrimaryWithin(requestTimeout, do)
}

func (s *Service) onPrimaryWithin(bound time.Duration, do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch primary := s.primary(); {
		case primary == "":
			finish(w, Refused{Why: "there is no primary: ask for the status"})
		case primary == s.Member:
			ctx, stop := context.WithTimeout(r.Context(), bound)
			defer stop()
			do(w, r.WithContext(ctx))
		case r.Header.Get(forwarded) != "":
			finish(w, Refused{Why: fmt.Sprintf("the primary changes: %s takes %s for it", s.Member, primary)})
		default:
			s.forward(w, r, primary)
		}
	}
}

// Users asks the primary for its users, by name.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	var out []User
	return out, c.do(ctx, http.MethodGet, "/v1/users", nil, &out)
}

// EnsureUser makes a user; again has no effect.
func (c *Client) EnsureUser(ctx context.Context, u NewUser) error {
	return c.do(ctx, http.MethodPut, "/v1/users/"+url.PathEscape(u.Name), u, nil)
}

// HasUser asks the primary whether EnsureUser would leave a user as it is, but for its password. An agent that does not
// know the question answers with an error.
func (c *Client) HasUser(ctx context.Context, u User) (bool, error) {
	var has bool
	return has, c.do(ctx, http.MethodPost, "/v1/users/"+url.PathEscape(u.Name), u, &has)
}

// DeleteUser removes a user; again has no effect.
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/v1/users/"+url.PathEscape(name), nil, nil)
}

// EndSessions has this very member end the sessions of a user that was deleted. A repeat has no effect.
func (c *Client) EndSessions(ctx context.Context, user string) error {
	return c.do(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(user), nil, nil)
}

// TestLogin asks whether the primary lets a user in by a password.
func (c *Client) TestLogin(ctx context.Context, name, password string) (bool, error) {
	var accepted bool
	return accepted, c.do(ctx, http.MethodPost, "/v1/logins", login{Name: name, Password: password}, &accepted)
}
