package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestServerClockMovesOnlyAsFarAsProven(t *testing.T) {
	base := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name           string
		offset         time.Duration
		sent, received time.Duration
		date           time.Duration
		want           time.Duration
	}{
		{"agreement is left alone", 0, 200 * time.Millisecond, 300 * time.Millisecond, 0, 0},
		{"a learned offset that agrees is left alone", 400 * time.Millisecond, 0, 100 * time.Millisecond, 0,
			400 * time.Millisecond},
		{"server ahead", 0, 0, 0, time.Hour, time.Hour},
		{"server behind", 0, time.Minute, time.Minute, 0, -59 * time.Second},
		{"a slow answer proves less", 0, 0, 10 * time.Second, 5 * time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serverClock{offset: tt.offset}
			c.note(base.Add(tt.sent), base.Add(tt.received), base.Add(tt.date))
			if c.offset != tt.want {
				t.Errorf("offset %v, want %v", c.offset, tt.want)
			}
		})
	}
}

func TestMeterCountsAndLearns(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	}))
	defer server.Close()
	m := &meter{}
	c := http.Client{Transport: m.wrap(http.DefaultTransport)}
	for range 3 {
		resp, err := c.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if n := m.requests.Load(); n != 3 {
		t.Errorf("counted %d requests, want 3", n)
	}
	if behind := time.Until(m.clock.now()); behind > -59*time.Minute || behind < -61*time.Minute {
		t.Errorf("clock is %v ahead of ours, want about an hour behind", behind)
	}
}
