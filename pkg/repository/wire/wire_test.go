package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestClientDials(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	defer server.Close()
	dialled := 0
	client := NewClient(func(ctx context.Context) (net.Conn, error) {
		dialled++
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	})
	defer client.CloseIdleConnections()
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	for range 2 {
		resp, err := client.Get("http://pod/x")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusFound {
			t.Errorf("status %d", resp.StatusCode)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if dialled == 0 {
		t.Error("another way was found")
	}
}

func TestClientPassesDialErrors(t *testing.T) {
	refused := errors.New("no such pod")
	client := NewClient(func(context.Context) (net.Conn, error) { return nil, refused })
	if _, err := client.Get("http://pod/x"); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}
