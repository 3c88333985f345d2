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
	// Address is where it listens.
	Address string

	endpoint, dir string
	ca            []byte
	stop          func()
}

// Credentials of the server.
func Credentials(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "dbop-test", "AWS_SECRET_ACCESS_KEY": "dbop-test-secret"}[name]
}

// StartS3 runs versitygw, or skips the test where it was not built.
func StartS3(t testing.TB) *S3 {
	t.Helper()
	return StartS3In(t, t.TempDir())
}

// StartS3In runs versitygw over a directory that is empty.
func StartS3In(t testing.TB, dir string) *S3 {
	t.Helper()
	s := &S3{Address: FreeAddress(t), dir: dir}
	s.endpoint = "https://" + s.Address
	cert, key := Certificate(t)
	s.ca = cert
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
	s.start(t, Credentials("AWS_SECRET_ACCESS_KEY"))
	return s
}

func (s *S3) start(t testing.TB, secret string) {
	t.Helper()
	env := []string{"ROOT_ACCESS_KEY=" + Credentials("AWS_ACCESS_KEY_ID"), "ROOT_SECRET_KEY=" + secret}
	s.stop = Start(t, s.Address, env,
		Program(t, "versitygw"), "--port", s.Address, "--cert", filepath.Join(s.dir, "cert.pem"), "--key",
		filepath.Join(s.dir, "key.pem"), "--quiet", "--keep-alive", "posix", "--versioning-dir",
		filepath.Join(s.dir, "versions"), filepath.Join(s.dir, "data"))
}

// Revoke has the server refuse its credentials from now on; Restore takes that back.
func (s *S3) Revoke(t testing.TB) {
	s.stop()
	s.start(t, rand.Text())
}

// Restore has the server accept its credentials again.
func (s *S3) Restore(t testing.TB) {
	s.stop()
	s.start(t, Credentials("AWS_SECRET_ACCESS_KEY"))
}

// Plant puts a file into the data of a bucket, as somebody else's program.
func (s *S3) Plant(t testing.TB, bucket, key string) {
	t.Helper()
	path := filepath.Join(s.dir, "data", bucket, filepath.FromSlash(key))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte("of somebody else"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
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

// Retaining names a new bucket that retains each new object for a day.
func (s *S3) Retaining(t testing.TB) s3.Config {
	t.Helper()
	c := s.Config(t, true)
	b, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	mode, length, unit := minio.Governance, uint(1), minio.Days
	if err := b.Client().SetBucketObjectLockConfig(context.Background(), c.Bucket, &mode, &length, &unit); err != nil {
		t.Fatal(err)
	}
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
