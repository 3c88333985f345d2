package opener

import (
	"context"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// shop is a bench whose pods serve a claim, and opens it.
func shop(t *testing.T) (*opstest.Bench, func() repository.Repository, *int) {
	t.Helper()
	b, root, made := opstest.NewBench(t), t.TempDir(), new(int)
	b.Server.Created = func(p *corev1.Pod) {
		*made++
		b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
		b.Serve(p, root)
	}
	repositories := openRepositories(b)
	repositories.Claims = &Claims{}
	return b, func() repository.Repository {
		t.Helper()
		r, err := repositories.Open(t.Context(), "shop", "pvc:backups")
		b.Must(err)
		return r
	}, made
}

// TestClaimsShare: who opens a claim that is open uses its pod, which ends with its last user.
func TestClaimsShare(t *testing.T) {
	t.Parallel()
	b, open, made := shop(t)
	first, second := open(), open()
	if *made != 1 {
		t.Errorf("%d pods were made, want 1", *made)
	}
	pod := b.Only().Name
	b.Must(first.Close())
	b.Must(first.Close())
	if _, err := second.List(t.Context(), ""); err != nil {
		t.Errorf("one that is left by another can't be used: %v", err)
	}
	b.Must(second.Close())
	if b.Helper(pod) != nil {
		t.Error("the pod stays")
	}
	b.Must(open().Close())
	if *made != 2 {
		t.Errorf("%d pods were made, want 2: the first has ended", *made)
	}
}

// TestEnd: a claim that another pod is to mount is closed for all.
func TestEnd(t *testing.T) {
	t.Parallel()
	b, open, made := shop(t)
	first, second := open(), open()
	pod := b.Only().Name
	b.Must(End(second))
	if b.Helper(pod) != nil {
		t.Error("the pod stays")
	}
	third := open()
	b.Must(first.Close())
	b.Must(second.Close())
	if _, err := third.List(t.Context(), ""); *made != 2 || err != nil {
		t.Errorf("%d pods were made, want 2; the later one: %v", *made, err)
	}
	b.Must(third.Close())
	d, err := repository.NewDirectory(t.TempDir())
	b.Must(err)
	b.Must(End(d))
}

// TestClaimsAnew: a pod that does not answer is replaced.
func TestClaimsAnew(t *testing.T) {
	t.Parallel()
	b, claims, made := opstest.NewBench(t), &Claims{}, 0
	gone := func(context.Context) (net.Conn, error) { return nil, net.ErrClosed }
	open := func() repository.Repository {
		r, err := claims.open(t.Context(), claimKey{}, func() (*claimed, error) {
			made++
			return &claimed{Remote: repository.NewRemote("pvc:backups", gone), client: b.Client(), namespace: "shop",
				pod: "dbop-repository-1"}, nil
		})
		b.Must(err)
		return r
	}
	first, second := open(), open()
	if made != 2 {
		t.Errorf("%d pods were made, want 2", made)
	}
	b.Must(first.Close())
	b.Must(second.Close())
	if len(claims.opened) > 0 {
		t.Error("a claim stays open")
	}
}
