//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// lostFor is how long a cluster is down without a break once its majority is lost: a container outlives the object of
// its pod for a moment, and still votes.
const lostFor = 4 * time.Second

// recovers loses the volumes of two of three members for good, and begins again from the third. That is a replica, and
// holds all that was acknowledged before. What was lost can't come back, and what was kept is kept as it is.
func (s *scene) recovers() {
	s.Helper()
	s.sql(rows)
	want := s.sql(contents)
	first, kept := s.primary(), s.replica()
	claims, pods := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns), s.site.Client.CoreV1().Pods(s.ns)
	before, err := claims.Get(s.ctx, kept, metav1.GetOptions{})
	s.ok(err)
	list, err := claims.List(s.ctx, metav1.ListOptions{LabelSelector: "dbop.dev/cluster=db"})
	s.ok(err)
	var lost []string
	for _, c := range list.Items {
		if c.Name != kept {
			lost = append(lost, c.Name)
			s.ok(claims.Delete(s.ctx, c.Name, metav1.DeleteOptions{}))
		}
	}
	for _, m := range lost {
		s.ok(pods.Delete(s.ctx, m+"-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	}
	for _, m := range lost {
		s.ok(harness.Until(s.ctx, time.Minute, "the volume of "+m+" to be gone", func(ctx context.Context) error {
			_, err := claims.Get(ctx, m, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is still there"), err)
		}))
	}
	var since time.Time
	s.ok(harness.Until(s.ctx, time.Minute, "the quorum to be lost", func(context.Context) error {
		switch r := s.try("status", "db"); {
		case r.Code != 11:
			since = time.Time{}
			return fmt.Errorf("exit code %d: %s", r.Code, r.Stdout)
		case since.IsZero():
			since = time.Now()
		}
		if down := time.Since(since); down < lostFor {
			return fmt.Errorf("it is down for %s only", down)
		}
		return nil
	}))
	s.refused(4, "volumes exist", "recover", "db", "--method", "bring-back", "--yes")
	s.refused(4, "there is no volume of "+first, "recover", "db", "--method", "data", "--from", first, "--confirm", "db")
	r := s.must("recover", "db", "--confirm", "db", "--repository", s.TempDir())
	for _, words := range []string{"proposed: data", "examined: " + kept + ": ", "(chosen)"} {
		if !strings.Contains(r.Stderr, words) {
			s.Errorf("it does not say %q:\n%s", words, r)
		}
	}
	s.healthy(3)
	if got := s.sql(contents); got != want {
		s.Errorf("it holds %s, want %s", got, want)
	}
	after, err := claims.Get(s.ctx, kept, metav1.GetOptions{})
	s.ok(err)
	if r := s.must("status", "db"); before.UID != after.UID || strings.Contains(r.Stdout, kept+" ") {
		s.Errorf("the volume of %s was not kept as it was:\n%s", kept, r.Stdout)
	}
}
