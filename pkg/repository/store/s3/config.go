package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Checksum says what protects bytes on their way to the store, beside TLS.
type Checksum string

const (
	// ChecksumAuto sends a CRC32C with everything. A store that doesn't know it ignores the header.
	ChecksumAuto Checksum = ""
	// ChecksumRequired is ChecksumAuto, and Capabilities fails where the store doesn't compare.
	ChecksumRequired Checksum = "required"
	// ChecksumOff sends none, for stores that refuse the header.
	ChecksumOff Checksum = "off"
)

// Retention is the mode of object lock in which RetainUntil is set.
type Retention string

const (
	// RetentionGovernance may be lifted by who has the right to.
	RetentionGovernance Retention = ""
	// RetentionCompliance may be lifted by nobody.
	RetentionCompliance Retention = "compliance"
)

// Config names a bucket. Only Bucket is required.
type Config struct {
	Bucket string
	// Prefix is put before every key, with a slash between.
	Prefix string
	// Endpoint is a URL; https unless it says http. "" is Amazon's.
	Endpoint string
	// Region is asked of the store if it is "".
	Region string
	// PathStyle puts the bucket into the path and not into the host name.
	PathStyle bool
	// CA holds certificates in PEM that are trusted beside the system's.
	CA        []byte
	Checksum  Checksum
	Retention Retention
	// Credentials returns AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN: os.Getenv, or the data of
	// a Secret. Where it knows none, the identity of the workload is used, as pods of a cloud provider have one.
	Credentials func(name string) string
}

const amazon = "https://s3.amazonaws.com"

// Open makes a client. Nothing is dialled before the first call.
func Open(c Config) (*Store, error) {
	endpoint, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	if c.Bucket == "" {
		return nil, errors.New("open a bucket: it has no name; write \"s3://BUCKET/PREFIX\"")
	}
	prefix, err := store.ParsePrefix(c.Prefix)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	switch {
	case c.Checksum != ChecksumAuto && c.Checksum != ChecksumRequired && c.Checksum != ChecksumOff:
		return nil, fmt.Errorf("open bucket %s: checksum mode %q; write \"required\" or \"off\"", c.Bucket, c.Checksum)
	case c.Retention != RetentionGovernance && c.Retention != RetentionCompliance:
		return nil, fmt.Errorf("open bucket %s: retention mode %q; write \"compliance\" or nothing", c.Bucket, c.Retention)
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	out := &Store{transport: transport, bucket: c.Bucket, prefix: prefix, config: c, secure: endpoint.Scheme == "https"}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	out.client, err = minio.NewCore(endpoint.Host, &minio.Options{
		Creds: c.credentials(), Secure: out.secure, Transport: dated{refusals{transport}, &out.clock}, Region: c.Region,
		BucketLookup: lookup,
		// Lets checksums pass that are computed here; none is ever sent behind the body.
		TrailingHeaders: true,
		MaxRetries:      attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s at %s: %w", c.Bucket, endpoint.Redacted(), err)
	}
	return out, nil
}

func (c Config) endpoint() (*url.URL, error) {
	text := c.Endpoint
	if text == "" {
		text = amazon
	}
	u, err := store.ParseEndpoint(text)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	return u, nil
}

func (c Config) transport() (*http.Transport, error) {
	t, err := minio.DefaultTransport(true)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	t.DialContext = store.Moving(t.DialContext)
	if len(c.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.CA) {
			return nil, fmt.Errorf("open bucket %s: the CA holds no certificate in PEM", c.Bucket)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

func (c Config) credentials() *credentials.Credentials {
	lookup := c.Credentials
	if lookup == nil {
		lookup = func(string) string { return "" }
	}
	if id := lookup("AWS_ACCESS_KEY_ID"); id != "" {
		return credentials.NewStaticV4(id, lookup("AWS_SECRET_ACCESS_KEY"), lookup("AWS_SESSION_TOKEN"))
	}
	return credentials.New(&credentials.IAM{})
}
