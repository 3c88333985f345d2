package main

import (
	"context"
	"fmt"
	"time"

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
