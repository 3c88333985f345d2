package repository

import (
	"testing"
	"time"
)

func TestNewestVerified(t *testing.T) {
	at := func(id string, hour int, verified bool) Manifest {
		m := Manifest{ID: id, FinishedAt: time.Date(2030, 1, 2, hour, 0, 0, 0, time.UTC)}
		if verified {
			m.Verified = &Verification{}
		}
		return m
	}
	for name, c := range map[string]struct {
		all  []Manifest
		want string
	}{
		"none":           {nil, ""},
		"none verified":  {[]Manifest{at("a", 3, false)}, ""},
		"not the newest": {[]Manifest{at("a", 3, false), at("b", 1, true), at("c", 2, true)}, "c"},
	} {
		if got, ok := NewestVerified(c.all); got.ID != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got.ID, ok, c.want)
		}
	}
}
