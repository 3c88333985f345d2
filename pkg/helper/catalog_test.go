package helper

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

func post(t *testing.T, dial dialer, path string, in, out any) {
	t.Helper()
	content, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	resp, err := client.Post(receiverURL+path, "application/json", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s", path, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// What goes wrong without a type still arrives as an error.
func TestMalformedRequests(t *testing.T) {
	dial, _, _ := serving(t, time.Minute)
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	got := map[string]int{}
	for _, path := range []string{"/v1/backups/x/verified", "/v1/backups/x/uploads", "/v1/backups/x/uploads/y/commit",
		"/v1/nothing"} {
		resp, err := client.Post(receiverURL+path, "application/json", bytes.NewReader([]byte("{")))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got[path] = resp.StatusCode
	}
	want := map[string]int{
		"/v1/backups/x/verified": 400, "/v1/backups/x/uploads": 400,
		"/v1/backups/x/uploads/y/commit": 400, "/v1/nothing": 404,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
