//go:build e2e

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// exportedKinds are the kinds of what the tool makes in a namespace, and what it is asked by.
const exportedKinds = "configmaps,secrets,persistentvolumeclaims,services," +
	"poddisruptionbudgets,statefulsets,databaseclusters.dbop.dev"

// TestExportedNamespace exports all of a cluster under a custom resource and
// applies it in another namespace, while the cluster serves its clients; then
// the namespace is deleted, and all is applied again in its place.
func TestExportedNamespace(t *testing.T) {
	s := newScene(t, "export", "my-db")
	var others []string // of the operator, and of the copy
	for range 2 {
		ns, err := s.site.CreateNamespace(s.ctx, "e2e-export")
		s.ok(err)
		others = append(others, ns)
		t.Cleanup(func() {
			if err := s.site.DeleteNamespace(context.WithoutCancel(s.ctx), ns, goneWithin); err != nil {
				t.Error(err)
			}
		})
	}
	install := []string{"operator", "install", "--replicas", "1", "--operator-namespace", others[0], "--watch", s.ns,
		"--watch", others[1]}
	s.must(install...)
	c := s.custom()
	c.wanted(s.ns, "my-db", 3, func(spec *v1alpha1.DatabaseClusterSpec) { spec.DeletionPolicy = v1alpha1.DeletionPurge })
	c.ready("my-db", 3)
	l := s.loaded("my-db", torture.Seed(t), tamperRate)
	export := s.kubectl("get", exportedKinds, "-l", "dbop.dev/cluster=my-db", "-o", "json").Stdout
	export += s.kubectl("get", "databaseclusters.dbop.dev", "-o", "json").Stdout

	// Elsewhere: without the volumes there is no data, and the cluster itself does not suffer.
	pods, volumes := s.databasePods("my-db"), s.volumeIDs()
	copied := *s
	copied.ns = others[1]
	copied.applyExport(export, false)
	copied.within(podWithin, "the copy to be told", func() error {
		if r := copied.try("status", "my-db"); !strings.Contains(r.Stdout, "discovery failed") ||
			!strings.Contains(r.Stdout, "diagnose my-db") {
			return errors.New(r.String())
		}
		return nil
	})
	made := copied.volumeIDs()
	// A member that still starts may come back: recover says so until all have crashed.
	copied.within(podWithin, "recover to see that no member of the copy comes back", func() error {
		r := copied.try("recover", "my-db", "--method", "data", "--confirm=my-db")
		if r.Code == 4 && strings.Contains(r.Stderr, "transient") {
			return errors.New(r.String())
		}
		copied.judge(r, 9, "no data that is left can be used", "recover my-db --method backup")
		return nil
	})
	if now := copied.volumeIDs(); !maps.Equal(made, now) ||
		strings.Contains(copied.must("history", "my-db").Stdout, "delete") {
		t.Errorf("volumes of the copy before %v, after %v", made, now)
	}
	if now := s.databasePods("my-db"); !maps.Equal(pods, now) || !maps.Equal(volumes, s.volumeIDs()) {
		t.Errorf("pods before %v, after %v", pods, now)
	}
	// Three members of the copy crash again and again: a read may miss its time on a small machine.
	s.within(podWithin, "my-db to be healthy", func() error {
		if r := s.try("status", "my-db"); r.Code != 0 {
			return errors.New(r.String())
		}
		return nil
	})
	acked := l.writer.AckedBefore()
	l.end()

	// In its place: the volumes are kept, as a person does who moves a namespace.
	kept := s.retained()
	s.ok(s.site.DeleteNamespace(s.ctx, s.ns, goneWithin))
	s.recreate(kept)
	s.must(install...)
	s.applyExport(export, true)
	c.ready("my-db", 3)
	if n := strings.Count(s.must("history", "my-db").Stdout, "\n"); n != 2 {
		t.Errorf("something was done besides its creation:\n%s", s.must("history", "my-db"))
	}
	missing, err := harness.MissingAcks(s.ctx, s.dial("my-db"), "load/", acked)
	s.ok(err)
	if len(missing) > 0 {
		t.Errorf("%d of %d acknowledged writes are lost, such as %s", len(missing), len(acked), missing[0])
	}
}

// applyExport applies lists of objects without what a server adds to them, as
// tools for backups do, and without their volumes unless these are kept.
func (s *scene) applyExport(lists string, volumes bool) {
	s.Helper()
	var items []map[string]any
	for in := json.NewDecoder(strings.NewReader(lists)); in.More(); {
		var list struct {
			Items []map[string]any `json:"items"`
		}
		s.ok(in.Decode(&list))
		items = append(items, list.Items...)
	}
	for _, o := range items {
		meta := o["metadata"].(map[string]any)
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation",
			"ownerReferences"} {
			delete(meta, field)
		}
		meta["namespace"] = s.ns
		delete(o, "status")
		spec, _ := o["spec"].(map[string]any)
		switch o["kind"] {
		case "Service":
			if spec["clusterIP"] != corev1.ClusterIPNone {
				delete(spec, "clusterIP")
				delete(spec, "clusterIPs")
			}
		case "PersistentVolumeClaim":
			if !volumes {
				delete(spec, "volumeName")
			}
			annotations := meta["annotations"].(map[string]any)
			for name := range annotations {
				if strings.Contains(name, "kubernetes.io/") { // it is not bound yet
					delete(annotations, name)
				}
			}
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	s.ok(err)
	file := filepath.Join(s.home, fmt.Sprintf("export-%s.json", s.ns))
	s.ok(os.WriteFile(file, text, 0o600))
	s.mustKubectl("apply", "-f", file)
}

// retained has the volumes of the namespace outlive it, until the end of the test.
func (s *scene) retained() []string {
	s.Helper()
	var out []string
	claims, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	s.ok(err)
	for _, claim := range claims.Items {
		out = append(out, claim.Spec.VolumeName)
		s.ok(s.reclaim(claim.Spec.VolumeName, corev1.PersistentVolumeReclaimRetain))
	}
	s.Cleanup(func() {
		for _, name := range out {
			if err := s.reclaim(name, corev1.PersistentVolumeReclaimDelete); err != nil && !apierrors.IsNotFound(err) {
				s.Error(err)
			}
		}
	})
	return out
}

func (s *scene) reclaim(volume string, policy corev1.PersistentVolumeReclaimPolicy) error {
	patch := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"` + string(policy) + `"}}`)
	_, err := s.site.Client.CoreV1().PersistentVolumes().Patch(context.WithoutCancel(s.ctx), volume, types.MergePatchType,
		patch, metav1.PatchOptions{})
	return err
}

// recreate makes the scene's namespace again, and has its volumes wait for their claims.
func (s *scene) recreate(volumes []string) {
	s.Helper()
	_, err := s.site.Client.CoreV1().Namespaces().Create(s.ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted",
				"dbop.dev/test": "true"}}}, metav1.CreateOptions{})
	s.ok(err)
	for _, name := range volumes {
		patch := []byte(`{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}`)
		_, err := s.site.Client.CoreV1().PersistentVolumes().Patch(s.ctx, name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		s.ok(err)
	}
}
