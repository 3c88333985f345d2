//go:build e2e

package objectstore

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestLiar: a store that accepts a condition and ignores it is refused, and nothing is kept of it.
func TestLiar(t *testing.T) {
	s := newScene(t, "liar")
	c := storetest.StartLiar(t)
	s.cli.Env["AWS_ACCESS_KEY_ID"], s.cli.Env["AWS_SECRET_ACCESS_KEY"] = storetest.Credentials("AWS_ACCESS_KEY_ID"),
		storetest.Credentials("AWS_SECRET_ACCESS_KEY")
	r := s.try("repository", "add", "liar", "--url", "s3://"+c.Bucket+"/x", "--endpoint", c.Endpoint,
		"--region", c.Region,
		"--path-style", "--from-env", "--new-key-file", s.file("key.txt"))
	s.refused(r, 4, "never replaces an object by a put")
	s.says(s.must("repository", "list"), "No resources found")
}
