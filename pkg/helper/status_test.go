package helper

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

func TestStatusOverHTTP(t *testing.T) {
	o := options(t, "fail")
	dial, _ := receiving(t, newReceiver(o))
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	ask := func() (s Status) {
		t.Helper()
		resp, err := client.Get(receiverURL + pathStatus)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if d := cmp.Diff(Status{State: StateWaiting, Operation: "op-1"}, ask()); d != "" {
		t.Errorf("before (-want +got):\n%s", d)
	}
	if err := deliver(t, dial, []byte("snapshot")); err == nil {
		t.Fatal("it loaded")
	}
	got := ask()
	if got.Problem == "" {
		t.Error("no problem reported")
	}
	got.Problem = ""
	if d := cmp.Diff(Status{State: StateWaiting, Operation: "op-1", Received: 8, Size: 8}, got); d != "" {
		t.Errorf("after (-want +got):\n%s", d)
	}
}

func TestBoardAdmitsOne(t *testing.T) {
	b := board{status: Status{State: StateWaiting, Operation: "op-1", Problem: "old"}}
	if !b.start(8) || b.start(8) {
		t.Error("not exactly one was admitted")
	}
	if d := cmp.Diff(Status{State: StateReceiving, Operation: "op-1", Size: 8}, b.now()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
