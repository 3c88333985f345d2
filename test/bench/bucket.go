package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// open opens the server's bucket.
func (s *stores) open(prefix string) (*s3.Store, error) {
	env := s.server.Environment()
	return s3.Open(s3.Config{Bucket: storeBucket, Prefix: prefix, Endpoint: s.server.Endpoint, Region: "us-east-1",
		PathStyle: true, CA: s.server.CA, Credentials: func(name string) string { return env[name] }})
}

func (s *stores) uploads(ctx context.Context) error {
	at, err := s.open("uploads")
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	env := s.server.Environment()
	remote := fmt.Sprintf(`export RCLONE_CONFIG=/dev/null RCLONE_CONFIG_X_TYPE=s3 RCLONE_CONFIG_X_PROVIDER=Other \
RCLONE_CONFIG_X_ENDPOINT=%s RCLONE_CONFIG_X_ACCESS_KEY_ID=%s RCLONE_CONFIG_X_SECRET_ACCESS_KEY=%s \
RCLONE_CONFIG_X_REGION=us-east-1
"$RCLONE" copy --ca-cert server/ca.pem --s3-no-check-bucket --ignore-times source.zst x:%s/rclone`, s.server.Endpoint,
		env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], storeBucket)
	mine, theirs, err := s.pair(ctx, remote, func() (time.Duration, error) {
		_, took, err := s.save(ctx, at, s.encrypted)
		return took, err
	})
	if err != nil {
		return err
	}
	s.judge("encrypted write to S3 on loopback", "rclone copy of the compressed file", mine, theirs, barStore)
	return nil
}

// lists copies the name of one backup: a listing reads nothing else.
func (s *stores) lists(ctx context.Context) error {
	at, err := s.open("uploads")
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	a := archive.Open(at, s.encrypted)
	c, err := a.List(ctx, archive.Scope{})
	if err != nil || len(c.Entries) == 0 {
		return errors.Join(err, errors.New("there is no backup to copy the name of"))
	}
	one := filepath.Join(s.dir, "server", "data", storeBucket, "uploads", c.Entries[0].Key)
	dir, name := filepath.Split(one)
	for i := range listed {
		// The time of a ULID is its first ten characters, its end is random.
		other := name[:22] + fmt.Sprintf("%04d", i) + name[26:]
		other = strings.Replace(other, c.Entries[0].ID, fmt.Sprintf("bench-20261122T101500Z-%04x", i), 1)
		if err := os.WriteFile(filepath.Join(dir, other), []byte("{}"), 0o600); err != nil {
			return fmt.Errorf("make a name: %w", err)
		}
	}
	var took samples
	for range s.repeats {
		from := time.Now()
		if c, err = a.List(ctx, archive.Scope{}); err != nil {
			return err
		}
		took.took(time.Since(from))
	}
	if len(c.Entries) < listed {
		return fmt.Errorf("%d of %d backups are listed", len(c.Entries), listed)
	}
	s.rows.judged(fmt.Sprintf("list of %d backups in one repository on S3 on loopback", listed), took.median(), "s",
		barListed, took.spread("s")+"; a request for each thousand")
	return nil
}
