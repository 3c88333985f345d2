// Command rclone is rclone with one backend and one server: an S3 server that
// accepts conditions and locks and ignores both. Tests hold that such a store
// is refused.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/copy"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
