package api

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// clients leads them, and counts how often.
type clients struct {
	led int
	err error
}

func (c *clients) Lead(context.Context) error {
	c.led++
	return c.err
}

func TestLead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   ClientLeader
		want string
	}{
		"it leads them":              {&clients{}, ""},
		"the API server is away":     {&clients{err: errors.New("away")}, "away"},
		"the agents pass clients on": {nil, "passes clients on"},
	} {
		s := newAgent().service()
		s.Clients = c.of
		err := client(t, s).Lead(t.Context())
		if got, is := c.of.(*clients); is && got.led != 1 {
			t.Errorf("%s: it is asked %d times", name, got.led)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
