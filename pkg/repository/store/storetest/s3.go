package storetest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// S3 is a versitygw with TLS.
type S3 struct {
	endpoint string
	ca       []byte
}

// Credentials of the server.
func Credentials(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "dbop-test", "AWS_SECRET_ACCESS_KEY": "dbop-test-secret"}[name]
}

// StartS3 runs versitygw, or skips the test where it was not built.
func StartS3(t testing.TB) *S3 {
	t.Helper()
	program, dir, address := Program(t, "versitygw"), t.TempDir(), FreeAddress(t)
	cert, key := Certificate(t)
	for name, content := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, sub := range []string{"data", "versions"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	Start(t, address, []string{"ROOT_ACCESS_KEY=" + Credentials("AWS_ACCESS_KEY_ID"),
		"ROOT_SECRET_KEY=" + Credentials("AWS_SECRET_ACCESS_KEY")}, program,
		"--port", address, "--cert", filepath.Join(dir, "cert.pem"), "--key", filepath.Join(dir, "key.pem"), "--quiet",
		"--keep-alive", "posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"))
	return &S3{endpoint: "https://" + address, ca: cert}
}

// Config names a new bucket.
func (s *S3) Config(t testing.TB, lock bool) s3.Config {
	t.Helper()
	c := s3.Config{
		Bucket: "test-" + strings.ToLower(rand.Text()), Prefix: "some/prefix", Endpoint: s.endpoint, Region: "us-east-1",
		PathStyle: true, CA: s.ca, Credentials: Credentials,
	}
	MakeBucket(t, c, lock)
	return c
}

// MakeBucket makes the bucket of a configuration.
func MakeBucket(t testing.TB, c s3.Config, lock bool) {
	t.Helper()
	b, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	options := minio.MakeBucketOptions{Region: c.Region, ObjectLocking: lock}
	if err := b.Client().MakeBucket(ctx, c.Bucket, options); err != nil {
		t.Fatal(err)
	}
}

// Open opens a new bucket.
func (s *S3) Open(t testing.TB) *s3.Store {
	t.Helper()
	b, err := s3.Open(s.Config(t, false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// StartLiar runs rclone as an S3 server, which ignores conditions, or skips the test. It returns a new bucket.
func StartLiar(t testing.TB) s3.Config {
	t.Helper()
	program, address := Program(t, "rclone"), FreeAddress(t)
	Start(t, address, nil, program, "serve", "s3", "--addr", address, "--auth-key",
		Credentials("AWS_ACCESS_KEY_ID")+","+Credentials("AWS_SECRET_ACCESS_KEY"), t.TempDir())
	c := s3.Config{
		Bucket: "test", Endpoint: "http://" + address, Region: "us-east-1", PathStyle: true, Credentials: Credentials,
	}
	MakeBucket(t, c, false)
	return c
}
