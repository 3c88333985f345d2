package helper

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// standing runs a Standby, and returns what asks it and tells how it ended.
func standing(t *testing.T, within time.Duration, work func(context.Context, string) error) (dialer, <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Standby{Within: within}.Serve(t.Context(), l, work) }()
	return dialTo(l), ended
}

// TestAsk: the work is done once, for the first who asks. Who asks again is told so, and another is refused.
func TestAsk(t *testing.T) {
	goesOn, worked := make(chan struct{}), make(chan string, 2)
	dial, ended := standing(t, time.Hour, func(_ context.Context, operation string) error {
		worked <- operation
		<-goesOn
		return nil
	})
	if err := Ask(t.Context(), dial, ""); err == nil {
		t.Error("nobody asks, and is not refused")
	}
	for range 2 {
		if err := Ask(t.Context(), dial, "one"); err != nil {
			t.Error(err)
		}
	}
	if err := Ask(t.Context(), dial, "another"); !errors.Is(err, ErrLoading) {
		t.Errorf("another operation: %v", err)
	}
	close(goesOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := <-worked; got != "one" || len(worked) > 0 {
		t.Errorf("it worked for %q, and then %d times", got, len(worked))
	}
	if err := Ask(t.Context(), dial, "one"); err == nil {
		t.Error("it takes work after its end")
	}
}

// TestNotAsked: who is not asked in time ends without having done anything.
func TestNotAsked(t *testing.T) {
	_, ended := standing(t, time.Millisecond, func(context.Context, string) error {
		t.Error("it works")
		return nil
	})
	if err := <-ended; !errors.Is(err, ErrNotAsked) {
		t.Error(err)
	}
}

// TestAskLate: an order that was taken is carried out, and none is taken after the end.
func TestAskLate(t *testing.T) {
	o := order{given: make(chan string, 1)}
	if err := o.give("one"); err != nil || o.close() {
		t.Errorf("%v, or the order is forgotten", err)
	}
	o = order{given: make(chan string, 1)}
	if !o.close() {
		t.Error("it has an order")
	}
	if err := o.give("one"); err == nil || len(o.given) > 0 {
		t.Error("it takes an order after its end")
	}
}

// TestAskFails: the error of the work is that of the helper.
func TestAskFails(t *testing.T) {
	broken := errors.New("broken")
	dial, ended := standing(t, time.Hour, func(context.Context, string) error { return broken })
	if err := Ask(t.Context(), dial, "one"); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, broken) {
		t.Error(err)
	}
}
