//go:build e2e

package postgres

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// otherAuthority is what the controller manager of another Kubernetes cluster writes into a namespace.
const otherAuthority = "-----BEGIN CERTIFICATE-----\nb3RoZXI=\n-----END CERTIFICATE-----\n"

var moments = regexp.MustCompile(`[-0-9]{10}T[0-9:]{8}Z`)

// TestArchiveOfACopy has what archives the log see another Kubernetes cluster, as it does in a namespace that was
// copied there with its records and volumes. It archives nothing into the log of the original, and the status says so.
// What sees its own cluster again goes on.
func TestArchiveOfACopy(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it; TestArchiveOfACopy of the agents has two clusters archive in one place")
	}
	s := newScene(t, "copy")
	if !s.site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s.offsite()
	s.create(s.releases(17)[0], "1", "--config", "archive-repository=offsite", "--config", "archive_timeout=5s")
	s.sql("CREATE TABLE kept (n bigint)")
	id := s.backup("offsite")
	archived := func() (until string) {
		for line := range strings.Lines(s.must("backup", "list", "--repository", "offsite").Stdout) {
			if strings.HasPrefix(line, id) {
				until = moments.FindString(line)
			}
		}
		return until
	}
	goesOn := func() {
		before := archived()
		s.rows(100)
		s.ok(harness.Until(s.ctx, 7*time.Minute, "more of the log to be archived", func(context.Context) error {
			if got := archived(); got == before {
				return errors.New("it reaches until " + got)
			}
			return nil
		}))
	}
	goesOn()
	s.kubectl("create", "configmap", "other", "--from-literal=ca.crt="+otherAuthority)
	sees := func(name string) {
		s.kubectl("patch", "statefulset", "db-archive", "-p", `{"spec": {"template": {"spec": {"volumes": [
			{"name": "kubernetes", "configMap": {"name": "`+name+`"}}]}}}}`)
	}
	sees("other")
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the status to say whose log it is", func(context.Context) error {
		if r := s.try("status", "db"); r.Code == 0 || !strings.Contains(r.Stdout, "belongs to another Kubernetes cluster") {
			return errors.New(r.Stdout)
		}
		return nil
	}))
	before := archived()
	s.rows(100)
	time.Sleep(15 * time.Second)
	if got := archived(); got != before {
		t.Errorf("a copy archives into the log of the original, until %s", got)
	}
	sees("kube-root-ca.crt")
	s.kubectl("delete", "pod", "db-archive-0")
	goesOn()
	s.healthy(1)
}
