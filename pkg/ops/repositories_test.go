package ops

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func (b *bench) repositories() *Repositories {
	c := b.client()
	return &Repositories{Client: c, Dialer: kube.NewDialer(c, b.tunnels.open), Image: "example.com/tool:v1"}
}

func TestOpenReadsLocations(t *testing.T) {
	b := newBench(t)
	at := "dir:" + t.TempDir()
	r, err := b.repositories().Open(t.Context(), "shop", at)
	b.must(err)
	if r.URL() != at || r.Close() != nil {
		t.Errorf("opened %s", r.URL())
	}
	for _, url := range []string{"", "s3://x", "pvc:", "dir:relative"} {
		_, err := b.repositories().Open(t.Context(), "shop", url)
		if KindOf(err) != Refused || !errors.Is(err, repository.ErrLocation) {
			t.Errorf("%q: %v, want a refusal", url, err)
		}
	}
	if len(b.server.writes) > 0 {
		t.Errorf("pods were made: %v", b.server.writes)
	}
}

// TestOpenClaim works in a claim through its helper pod, which ends with it.
func TestOpenClaim(t *testing.T) {
	b := newBench(t)
	root := t.TempDir()
	b.server.created = func(p *corev1.Pod) {
		b.becomes(p.Name, started(p, runs()))
		b.serve(p, root)
	}
	r, err := b.repositories().Open(t.Context(), "shop", "pvc:backups/etcd")
	b.must(err)
	p := b.only()
	if v := p.Spec.Volumes[0].PersistentVolumeClaim; v == nil || v.ClaimName != "backups" || p.Spec.Containers[0].VolumeMounts[0].SubPath != "etcd" || p.Spec.Containers[0].Image != "example.com/tool:v1" {
		t.Errorf("pod %+v", p.Spec)
	}
	w, err := r.Writer(t.Context(), backupID, "db.op")
	b.must(err)
	_, err = w.Write([]byte("keys"))
	b.must(err)
	_, err = w.Commit(t.Context(), repository.Manifest{Engine: "stub", Cluster: "db", Version: "1.1.0"}, b.database.opened)
	b.must(err)
	d, err := repository.NewDirectory(root)
	b.must(err)
	if m, err := d.Get(t.Context(), backupID); err != nil || m.Facts.Keys != 4 {
		t.Errorf("stored %+v, %v", m, err)
	}
	b.must(r.Close())
	if b.helper(p.Name) != nil {
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
		kind   Kind
		text   string
		within time.Duration
	}{
		"no image":          {unpullable, false, NeedsHuman, "no such image", patience + time.Second},
		"it ended":          {func(p *corev1.Pod) corev1.PodStatus { return ended(p, 1, "permission denied") }, false, NeedsHuman, "permission denied", time.Second},
		"it never starts":   {func(*corev1.Pod) corev1.PodStatus { return corev1.PodStatus{} }, false, NeedsHuman, "did not start within 2m0s", helperDeadline + time.Second},
		"the caller leaves": {func(*corev1.Pod) corev1.PodStatus { return corev1.PodStatus{} }, true, Failed, context.Canceled.Error(), 2 * time.Second},
		"it runs, but nothing listens": {func(p *corev1.Pod) corev1.PodStatus { return started(p, runs()) }, false, NeedsHuman, "did not start",
			helperDeadline + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.server.created = func(p *corev1.Pod) { b.becomes(p.Name, c.status(p)) }
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel {
					time.AfterFunc(time.Second, cancel)
				}
				began := time.Now()
				_, err := b.repositories().Open(ctx, "shop", "pvc:backups")
				if err == nil || KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
					t.Errorf("error %v, want %s %q", err, c.kind, c.text)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %s", took)
				}
				l := &corev1.PodList{}
				b.must(b.server.raw.List(context.Background(), l))
				if len(l.Items) > 0 {
					t.Error("the helper stays")
				}
			})
		})
	}
}

// TestHelperStuck: the advice is about what is in the way, not always about images.
func TestHelperStuck(t *testing.T) {
	for kind, hint := range map[kube.ProblemKind]string{
		kube.ProblemImage:         "--helper-image",
		kube.ProblemUnschedulable: "make the claim that it names",
		kube.ProblemVolume:        "make the claim that it names",
		kube.ProblemForbidden:     "kubectl get events -n shop",
	} {
		err := helperStuck("shop", kube.Helper{Name: "dbop-repository-1", Problem: &kube.Problem{Kind: kind, Message: "the reason"}})
		if !strings.Contains(err.Hint, hint) || !strings.Contains(err.Message, "dbop-repository-1: "+string(kind)+": the reason") {
			t.Errorf("%s: %s; %s", kind, err.Message, err.Hint)
		}
	}
}

// TestOpenClaimCleansUpAfterAFailedRequest: the answer was lost, the pod is there.
func TestOpenClaimCleansUpAfterAFailedRequest(t *testing.T) {
	b := newBench(t)
	b.server.created = func(*corev1.Pod) { b.server.lost = 1 }
	if _, err := b.repositories().Open(t.Context(), "shop", "pvc:backups"); !errors.Is(err, errCrash) || !strings.Contains(err.Error(), "pvc:backups") {
		t.Errorf("error %v", err)
	}
	if len(b.server.names(t)) > 0 {
		t.Errorf("left: %v", b.server.names(t))
	}
}
