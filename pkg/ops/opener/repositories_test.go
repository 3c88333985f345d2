package opener

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const backupID = "db-20300102T030405Z-0a1b"

func openRepositories(b *opstest.Bench) *Repositories {
	c := b.Client()
	return &Repositories{Client: c, Dialer: dial.NewDialer(c, b.Tunnels.Open), Image: "example.com/tool:v1"}
}

func TestOpenReadsLocations(t *testing.T) {
	b := opstest.NewBench(t)
	at := "dir:" + t.TempDir()
	r, err := openRepositories(b).Open(t.Context(), "shop", at)
	b.Must(err)
	if r.URL() != at || r.Close() != nil {
		t.Errorf("opened %s", r.URL())
	}
	for _, url := range []string{"", "s3://x", "pvc:", "dir:relative"} {
		_, err := openRepositories(b).Open(t.Context(), "shop", url)
		if ops.KindOf(err) != ops.Refused || !errors.Is(err, repository.ErrLocation) {
			t.Errorf("%q: %v, want a refusal", url, err)
		}
	}
	if len(b.Server.Writes) > 0 {
		t.Errorf("pods were made: %v", b.Server.Writes)
	}
}

// TestOpenClaim works in a claim through its helper pod, which ends with it.
func TestOpenClaim(t *testing.T) {
	b := opstest.NewBench(t)
	root := t.TempDir()
	b.Server.Created = func(p *corev1.Pod) {
		b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
		b.Serve(p, root)
	}
	r, err := openRepositories(b).Open(t.Context(), "shop", "pvc:backups/etcd")
	b.Must(err)
	p := b.Only()
	if v := p.Spec.Volumes[0].PersistentVolumeClaim; v == nil || v.ClaimName != "backups" ||
		p.Spec.Containers[0].VolumeMounts[0].SubPath != "etcd" || p.Spec.Containers[0].Image != "example.com/tool:v1" {
		t.Errorf("pod %+v", p.Spec)
	}
	w, err := r.Writer(t.Context(), backupID, "db.op")
	b.Must(err)
	_, err = w.Write([]byte("keys"))
	b.Must(err)
	_, err = w.Commit(t.Context(), repository.Manifest{Engine: "stub", Cluster: "db", Version: "1.1.0"},
		b.Database.Opened)
	b.Must(err)
	d, err := repository.NewDirectory(root)
	b.Must(err)
	if m, err := d.Get(t.Context(), backupID); err != nil || m.Facts.Reading("keys") != "4" {
		t.Errorf("stored %+v, %v", m, err)
	}
	b.Must(r.Close())
	if b.Helper(p.Name) != nil {
		t.Error("the helper stays")
	}
	if r.URL() != "pvc:backups/etcd" {
		t.Errorf("url %s", r.URL())
	}
}

func TestOpenClaimSaysWhyItNeverWill(t *testing.T) {
	for name, c := range map[string]struct {
		status func(*corev1.Pod) corev1.PodStatus
		cancel bool
		kind   ops.Kind
		text   string
		within time.Duration
	}{
		"no image": {opstest.Unpullable, false, ops.NeedsHuman, "no such image", rules.Limit + time.Second},
		"it ended": {func(p *corev1.Pod) corev1.PodStatus { return opstest.Ended(p, 1, "permission denied") }, false,
			ops.NeedsHuman, "permission denied", time.Second},
		"it never starts": {func(*corev1.Pod) corev1.PodStatus { return corev1.PodStatus{} }, false, ops.NeedsHuman,
			"did not start within 2m0s", helperDeadline + time.Second},
		"the caller leaves": {func(*corev1.Pod) corev1.PodStatus { return corev1.PodStatus{} }, true, ops.Failed,
			context.Canceled.Error(), 2 * time.Second},
		"it runs, but nothing listens": {func(p *corev1.Pod) corev1.PodStatus {
			return opstest.Started(p,
				opstest.RunsFor())
		}, false, ops.NeedsHuman, "did not start",
			helperDeadline + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := opstest.NewBench(t)
				b.Server.Created = func(p *corev1.Pod) { b.Becomes(p.Name, c.status(p)) }
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel {
					time.AfterFunc(time.Second, cancel)
				}
				began := time.Now()
				_, err := openRepositories(b).Open(ctx, "shop", "pvc:backups")
				if err == nil || ops.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
					t.Errorf("error %v, want %s %q", err, c.kind, c.text)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %s", took)
				}
				l := &corev1.PodList{}
				b.Must(b.Server.Raw.List(context.Background(), l))
				if len(l.Items) > 0 {
					t.Error("the helper stays")
				}
			})
		})
	}
}

// TestHelperStuck: the advice is about what is in the way, not always about images.
func TestHelperStuck(t *testing.T) {
	for kind, hint := range map[observe.ProblemKind]string{
		observe.ProblemImage:         "--helper-image",
		observe.ProblemUnschedulable: "make the claim that it names",
		observe.ProblemVolume:        "make the claim that it names",
		observe.ProblemForbidden:     "kubectl get events -n shop",
	} {
		err := HelperStuck("shop", observe.Helper{Name: "dbop-repository-1",
			Problem: &observe.Problem{Kind: kind, Message: "the reason"}})
		if !strings.Contains(err.Hint, hint) || !strings.Contains(err.Message, "dbop-repository-1: "+string(kind)+
			": the reason") {
			t.Errorf("%s: %s; %s", kind, err.Message, err.Hint)
		}
	}
}

// TestOpenClaimCleansUpAfterAFailedRequest: the answer was lost, the pod is there.
func TestOpenClaimCleansUpAfterAFailedRequest(t *testing.T) {
	b := opstest.NewBench(t)
	b.Server.Created = func(*corev1.Pod) { b.Server.Lost = 1 }
	if _, err := openRepositories(b).Open(t.Context(), "shop", "pvc:backups"); !errors.Is(err, opstest.ErrCrash) ||
		!strings.Contains(err.Error(), "pvc:backups") {
		t.Errorf("error %v", err)
	}
	if len(b.Server.Names(t)) > 0 {
		t.Errorf("left: %v", b.Server.Names(t))
	}
}
