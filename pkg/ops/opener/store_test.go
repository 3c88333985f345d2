package opener

import (
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestStoreOfClaim: a claim is served by a pod that mounts all of it, from the first call to the end.
func TestStoreOfClaim(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]*Claims{"alone": nil, "shared": {}} {
		t.Run(name, func(t *testing.T) {
			b, root, made := opstest.NewBench(t), t.TempDir(), 0
			b.Server.Created = func(p *corev1.Pod) {
				made++
				b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
				b.Serve(p, root)
			}
			r := openRepositories(b)
			r.Claims = claims
			d := bucket.Description{Name: "nearby", URL: "pvc:backups", OneNode: true}
			open := func() store.Store {
				s, err := r.Store("shop", d, nil)
				b.Must(err)
				return s
			}
			first, second := open(), open()
			if made > 0 {
				t.Error("a pod is made before it is needed")
			}
			storetest.Put(t, first, "a/b", "body")
			if got := storetest.Content(t, second, "a/b"); got != "body" {
				t.Errorf("read %q", got)
			}
			if want := map[bool]int{true: 2, false: 1}[claims == nil]; made != want {
				t.Errorf("%d pods were made, want %d", made, want)
			}
			b.Must(first.Close())
			if claims != nil {
				p := b.Only()
				if p.Spec.Affinity == nil || p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "backups" ||
					p.Spec.Containers[0].VolumeMounts[0].SubPath != "" {
					t.Errorf("pod %+v", p.Spec)
				}
			}
			storetest.Content(t, second, "a/b")
			b.Must(second.Close())
			pods := &corev1.PodList{}
			b.Must(b.Client().API.List(t.Context(), pods))
			if len(pods.Items) > 0 {
				t.Errorf("%d pods stay", len(pods.Items))
			}
			if err := second.Delete(t.Context(), "a/b"); !errors.Is(err, net.ErrClosed) {
				t.Errorf("one that was closed is used: %v", err)
			}
		})
	}
}

// TestDirectoryOfClaim: the directory in a claim is made by the program and not by the kubelet, whose user is another.
func TestDirectoryOfClaim(t *testing.T) {
	t.Parallel()
	d := bucket.Description{Name: "nearby", URL: "pvc:backups/team"}
	at, _ := d.Claim()
	spec := (&Repositories{}).servingWhole("shop", at, false)
	if spec.SubPath != "" || spec.Args[3] != "/repository/team" || spec.SameNode != "" {
		t.Errorf("%+v", spec)
	}
}
