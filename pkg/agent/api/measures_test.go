package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// meter counts questions.
type meter struct {
	asked  int
	answer Measures
	err    error
	wait   time.Duration
}

func (m *meter) Measure(ctx context.Context) (Measures, error) {
	m.asked++
	select {
	case <-ctx.Done():
		return Measures{DataBytes: -1}, ctx.Err()
	case <-time.After(m.wait):
		return m.answer, m.err
	}
}

// TestMeasures: a server is asked seldom, and one that does not answer holds nobody up.
func TestMeasures(t *testing.T) {
	full := Measures{DataBytes: 7, Readings: []Reading{{Name: "connections", Value: "1/100"}}}
	for _, c := range []struct {
		name  string
		meter meter
		want  Measures
		took  time.Duration
	}{
		{"answers", meter{answer: full, wait: 10 * time.Millisecond}, full, 10 * time.Millisecond},
		{"fails", meter{answer: full, err: errors.New("down")}, Measures{Stale: "down"}, 0},
		{"is busy", meter{answer: full, wait: time.Hour}, Measures{Stale: "context deadline exceeded"},
			measureTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, from := &Service{Meter: &c.meter}, time.Now()
				for range 3 {
					if diff := cmp.Diff(c.want, s.measures(t.Context(), 1)); diff != "" {
						t.Error(diff)
					}
				}
				if took := time.Since(from); took != c.took || c.meter.asked != 1 {
					t.Errorf("asked %d times in %s, not once in %s", c.meter.asked, took, c.took)
				}
				time.Sleep(measureAge)
				s.measures(t.Context(), 1)
				if c.meter.asked != 2 {
					t.Errorf("asked %d times", c.meter.asked)
				}
				s.measures(t.Context(), 2)
				if c.meter.asked != 3 {
					t.Errorf("asked %d times after the settings changed", c.meter.asked)
				}
				s.measureAgain()
				s.measures(t.Context(), 2)
				if c.meter.asked != 4 {
					t.Errorf("asked %d times after who lets clients in changed", c.meter.asked)
				}
			})
		})
	}
	if diff := cmp.Diff(Measures{}, new(Service).measures(t.Context(), 1)); diff != "" {
		t.Error(diff)
	}
}

// TestMeasuresStay: what safety needs is not forgotten because a server is busy, but said to be of before.
func TestMeasuresStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{answer: Measures{DataBytes: 7, Readings: []Reading{{Name: "connections", Value: "1/100"}},
			Warnings: []string{"slow"}, OnlyHere: []string{"a slot"}, Overridden: []string{"cost"}, Closed: []string{"shop"}}}
		s := &Service{Meter: m}
		s.measures(t.Context(), 1)
		m.err = errors.New("too many clients")
		want := Measures{Warnings: []string{"slow"}, OnlyHere: []string{"a slot"}, Overridden: []string{"cost"},
			Closed: []string{"shop"}, Stale: "too many clients"}
		for range 2 {
			time.Sleep(measureAge)
			if diff := cmp.Diff(want, s.measures(t.Context(), 1)); diff != "" {
				t.Error(diff)
			}
		}
		s.measureAgain()
		want.Closed = nil
		if diff := cmp.Diff(want, s.measures(t.Context(), 1)); diff != "" {
			t.Error(diff)
		}
		m.err = nil
		time.Sleep(measureAge)
		if diff := cmp.Diff(m.answer, s.measures(t.Context(), 1)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestStatusTellsDisk: how full the volume is needs no server.
func TestStatusTellsDisk(t *testing.T) {
	t.Parallel()
	for want, space := range map[Disk]func() (int64, int64){
		{}:                  nil,
		{Used: 3, Total: 4}: func() (int64, int64) { return 3, 4 },
	} {
		if got := (&Service{Space: space}).disk(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
