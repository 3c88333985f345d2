//go:build e2e

package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// besideKeys take a minute at the bandwidth, which is longer than the replacement of a member.
const besideKeys = 2 * slowKeys

// TestBesideABackup: while a Job takes a backup, what would restart its member is refused, another member is replaced,
// and the backup is whole in the end.
func TestBesideABackup(t *testing.T) {
	s := newScene(t, "beside")
	s.succeeded(s.add("beside", "--new-key-file", s.file("key.txt"), "--bandwidth", slowBandwidth), "repository add")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "kept/", besideKeys, slowValue))
	s.ok(db.Close())
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	ended := make(chan harness.Result, 1)
	go func() {
		r, _ := p.Wait()
		ended <- r
	}()
	var source string
	s.ok(harness.Until(s.ctx, time.Minute, "the pod of the backup", func(context.Context) error {
		if s.kubectl("get", "pods", "-l", "dbop.dev/purpose=backup", "--field-selector", "status.phase=Running", "-o",
			"name") == "" {
			return errors.New("it does not run yet")
		}
		var err error
		source, err = s.sourceOfBackup()
		return err
	}))
	s.refused(s.try("restart", "my-db"), 5, source, "would not outlast the step",
		"kubectl dbop -n "+s.ns+" cancel my-db")
	s.must("member", "replace", "my-db", s.followerBeside(source), "--force", "--yes")
	select {
	case r := <-ended:
		t.Fatalf("the backup was over before the member was replaced: %s", r)
	default:
	}
	s.says(s.must("status", "my-db"), "backup")
	select {
	case r := <-ended:
		s.succeeded(r, "backup")
	case <-s.ctx.Done():
		t.Fatal("the backup does not end")
	}
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 1 {
		t.Errorf("there are %d backups", n)
	}
	s.must("restart", "my-db")
}

// sourceOfBackup is the member that the record of the newest operation names.
func (s *scene) sourceOfBackup() (string, error) {
	var list struct {
		Items []struct {
			Status struct {
				Facts map[string]string `json:"facts"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(s.must("history", "my-db", "-o", "json").Stdout), &list); err != nil {
		return "", fmt.Errorf("read the history: %w", err)
	}
	if len(list.Items) == 0 || list.Items[0].Status.Facts["backup-source"] == "" {
		return "", errors.New("the record names no member yet")
	}
	return list.Items[0].Status.Facts["backup-source"], nil
}

// followerBeside is a member that neither leads nor is the given one: to replace it hands nothing over.
func (s *scene) followerBeside(source string) string {
	s.Helper()
	var status struct {
		Members []struct {
			Name string `json:"name"`
			Role string `json:"role"`
		} `json:"members"`
	}
	s.ok(json.Unmarshal([]byte(s.must("status", "my-db", "-o", "json").Stdout), &status))
	for _, m := range status.Members {
		if m.Name != source && m.Role != "leader" {
			return m.Name
		}
	}
	s.Fatalf("no member is left beside %s: %+v", source, status.Members)
	return ""
}
