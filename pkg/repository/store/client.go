package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ParsePrefix is what a client puts before every key: "", or the text with one slash behind it.
func ParsePrefix(text string) (string, error) {
	prefix := strings.Trim(text, "/")
	if prefix == "" {
		return "", nil
	}
	if err := CheckKey(prefix); err != nil {
		return "", fmt.Errorf("the prefix: %w", err)
	}
	return prefix + "/", nil
}

// ParseEndpoint reads the URL of a server, without a path; https where the text names no scheme.
func ParseEndpoint(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		// The text is not repeated: it may hold a password.
		return nil, errors.New(`its endpoint is no plain URL; write "https://HOST[:PORT]"`)
	}
	return u, nil
}

// connections is how many idle ones a client keeps.
const connections = 16

// answerTime is how long a store may take to begin its answer once it has the whole request.
const answerTime = time.Minute

// Transport makes connections to a store. Certificates of ca, in PEM, are trusted beside the system's. What arrives is
// what the store sent: nothing is decompressed on the way. A request ends with an error unless the answer to it begins
// within a minute after its last byte was sent; how long bytes travel, there or back, is not bounded,
// as long as they do: see Moving.
func Transport(ca []byte) (*http.Transport, error) {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the program has another transport of HTTP")
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = connections
	t.DisableCompression = true
	t.ResponseHeaderTimeout = answerTime
	t.DialContext = Moving(t.DialContext)
	if len(ca) == 0 {
		return t, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA holds no certificate in PEM")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}
