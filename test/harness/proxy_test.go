package harness

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// backend is an API server that counts what it was asked to do, and upgrades
// what wants to be upgraded to an echo.
func backend(t *testing.T) (*Proxy, *atomic.Int64, string) {
	t.Helper()
	var done atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			done.Add(1)
			return
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.Copy(c, buffered)
	}))
	t.Cleanup(server.Close)
	p, err := newProxy(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, &done, "http://" + p.address
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		// code of the answer, 0 for none; performed writes.
		code      int
		performed int64
	}{
		{FaultConflict, http.StatusConflict, 0},
		{FaultThrottled, http.StatusTooManyRequests, 0},
		{FaultBroken, http.StatusInternalServerError, 0},
		{FaultReset, 0, 0},
		{FaultLost, 0, 1},
		{FaultDoubtful, http.StatusGatewayTimeout, 1},
		{FaultSilent, 0, 0},
		{FaultSlow, http.StatusOK, 1},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			p, done, url := backend(t)
			p.Storm(1, 1, c.fault)
			client := http.Client{Timeout: slowest + time.Second}
			code := 0
			r, err := client.Post(url, "text/plain", strings.NewReader("x"))
			if err == nil {
				code = r.StatusCode
				_ = r.Body.Close()
			}
			if code != c.code || done.Load() != c.performed {
				t.Errorf("answered %d (%v) after %d were performed, want %d and %d", code, err, done.Load(), c.code,
					c.performed)
			}
			if got := p.Faults()[c.fault]; got != 1 {
				t.Errorf("it counts as %d faults", got)
			}
			p.Calm()
			r, err = client.Post(url, "text/plain", strings.NewReader("x"))
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("after the storm: %v, %v", r, err)
			}
			_ = r.Body.Close()
		})
	}
}

// What only befalls writes leaves reads alone, and what lasts is cut.
func TestFaultsFit(t *testing.T) {
	p, done, url := backend(t)
	p.Storm(1, 1, FaultConflict, FaultLost, FaultDoubtful, FaultCut)
	r, err := http.Get(url)
	if err != nil || r.StatusCode != http.StatusOK || done.Load() != 1 {
		t.Errorf("a read: %v, %v", r, err)
	}
	_ = r.Body.Close()
	if n := len(p.Faults()); n != 0 {
		t.Errorf("%d kinds of faults befell a read", n)
	}
}

func TestUpgradesPassAndAreCut(t *testing.T) {
	p, _, url := backend(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	p.Storm(1, 1, FaultCut)
	_, _ = io.WriteString(c, "POST /api/v1/namespaces/a/pods/b/portforward HTTP/1.1\r\nHost: x\r\nConnection: "+
		"Upgrade\r\nUpgrade: echo\r\n\r\n")
	answers := bufio.NewReader(c)
	r, err := http.ReadResponse(answers, nil)
	if err != nil || r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("no upgrade: %v, %v", r, err)
	}
	_ = r.Body.Close()
	_, _ = io.WriteString(c, "hello\n")
	if line, err := answers.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("the echo says %q: %v", line, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(cutWithin + time.Second))
	if _, err := answers.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection was not cut: %v", err)
	}
}

func TestShift(t *testing.T) {
	p, _, url := backend(t)
	p.Shift(-time.Hour)
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	date, err := http.ParseTime(r.Header.Get("Date"))
	if off := time.Since(date); err != nil || off < 59*time.Minute || off > 61*time.Minute {
		t.Errorf("the server's time is %s behind: %v", off, err)
	}
}

func TestKubeconfigLeadsThrough(t *testing.T) {
	p, done, _ := backend(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.Kubeconfig(path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get(config.Host)
	if err != nil || done.Load() != 1 {
		t.Fatalf("%d requests came through: %v", done.Load(), err)
	}
	_ = r.Body.Close()
}
