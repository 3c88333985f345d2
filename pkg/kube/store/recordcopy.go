package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// recordCopy is what each volume claim keeps of the cluster's record, so that
// the record can be written again after it was lost. It holds what can't be
// observed: not the newest backups, for example.
type recordCopy struct {
	recordedCluster
	// Annotations are the tool's own ones of the record.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// copyOf is the copy of a record, as its annotation holds it.
func copyOf(c *v1alpha1.DatabaseCluster) string {
	r := recordCopy{recordedCluster: recordedCluster{Generation: c.Generation, Spec: c.Spec},
		Annotations: map[string]string{}}
	r.Status.ID, r.Status.Bootstrap = c.Status.ID, c.Status.Bootstrap
	for k, v := range c.Annotations {
		if strings.HasPrefix(k, "dbop.dev/") {
			r.Annotations[k] = v
		}
	}
	out, err := json.Marshal(r)
	if err != nil {
		return "" // such a record could not be stored either
	}
	return string(out)
}

// WithCopy is a member's claim with the copy of the record on it.
func WithCopy(v *corev1.PersistentVolumeClaim, c *v1alpha1.DatabaseCluster) *corev1.PersistentVolumeClaim {
	metav1.SetMetaDataAnnotation(&v.ObjectMeta, kube.AnnotationRecord, copyOf(c))
	return v
}

// copyRecord brings the copies on the volume claims of the present formation
// up to date.
func copyRecord(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	l := &corev1.PersistentVolumeClaimList{}
	if err := c.API.List(ctx, l, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster.Name}); err != nil {
		return err
	}
	want := copyOf(cluster)
	for i := range l.Items {
		v := &l.Items[i]
		if v.Annotations[kube.AnnotationToken] != kube.Token(cluster) || kube.Token(cluster) == "" ||
			v.Annotations[kube.AnnotationRecord] == want {
			continue
		}
		before := v.DeepCopy()
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, kube.AnnotationRecord, want)
		if err := kube.IgnoreNotFound(c.API.Patch(ctx, v, client.MergeFrom(before))); err != nil {
			return err
		}
	}
	return nil
}

// Kept is what is there of a cluster besides its record.
type Kept struct {
	// Record as its newest copy says; nil if there is none, or if it is not
	// clear whose the volumes are.
	Record *v1alpha1.DatabaseCluster
	// Workloads and Volumes are the names of StatefulSets and volume claims of members.
	Workloads, Volumes []string
	// Clear: Record is beyond doubt. All StatefulSets and volume claims are of its
	// cluster, and all claims of its formation hold the same copy.
	Clear bool
	// Problem says why there is no Record although there are objects.
	Problem string
	// Damaged says what is wrong with the record that is there; nil if it is missing.
	Damaged error
}

// Lost reports whether the record alone is missing: the members still have
// their StatefulSets.
func (k Kept) Lost() bool { return len(k.Workloads) > 0 }

// FindKept reads what is there of a cluster whose record is missing or damaged:
// three requests. A damaged record that can be read counts more than its copies.
// It writes nothing.
func FindKept(ctx context.Context, c *kube.Client, namespace, name string) (Kept, error) {
	var claims corev1.PersistentVolumeClaimList
	var workloads appsv1.StatefulSetList
	record := &corev1.ConfigMap{}
	ours := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelCluster: name}}
	g, bounded := errgroup.WithContext(ctx)
	g.Go(func() error { return c.API.List(bounded, &claims, ours...) })
	g.Go(func() error { return c.API.List(bounded, &workloads, ours...) })
	g.Go(func() error {
		err := c.API.Get(bounded, client.ObjectKey{Namespace: namespace, Name: v1alpha1.Record(name)}, record)
		if errors.Is(err, kube.ErrNotFound) {
			record.Name = ""
			return nil
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return Kept{}, fmt.Errorf("list objects of cluster %s: %w", name, err)
	}
	k, ids, labelled := Kept{}, map[string]bool{}, map[string]bool{}
	var copies []recordCopy
	for i := range workloads.Items {
		w := &workloads.Items[i]
		if v1alpha1.MemberNumber(name, w.Name) > 0 {
			k.Workloads = append(k.Workloads, w.Name)
			ids[w.Annotations[kube.AnnotationClusterID]] = true
		}
	}
	running, newest := maps.Clone(ids), recordCopy{}
	maps.Copy(labelled, ids)
	for i := range claims.Items {
		v := &claims.Items[i]
		if v1alpha1.MemberNumber(name, v.Labels[v1alpha1.LabelMember]) == 0 {
			continue
		}
		k.Volumes = append(k.Volumes, v.Name)
		labelled[v.Annotations[kube.AnnotationClusterID]] = true
		var r recordCopy
		if json.Unmarshal([]byte(v.Annotations[kube.AnnotationRecord]), &r) != nil || r.Status.Bootstrap == nil {
			continue
		}
		copies = append(copies, r)
		if len(running) > 0 && !running[r.Status.ID] {
			continue // kept by an earlier cluster
		}
		ids[r.Status.ID] = true
		if newer(r, newest) {
			newest = r
		}
	}
	if record.Name != "" {
		_, k.Damaged = decodeCluster(record)
		own, err := contentOf(record)
		if readable := err == nil && own.Status.Bootstrap != nil; readable &&
			(len(running) == 0 || running[own.Status.ID]) {
			ids[own.Status.ID] = true
			newest = recordCopy{recordedCluster{own.Generation, own.Spec, own.Status}, own.Annotations}
		}
	}
	slices.Sort(k.Workloads)
	slices.Sort(k.Volumes)
	switch {
	case len(k.Workloads)+len(k.Volumes) == 0 && k.Damaged == nil:
	case len(ids) > 1:
		k.Problem = fmt.Sprintf("they are of %d clusters named %s", len(ids), name)
	case newest.Status.Bootstrap == nil:
		k.Problem = "no volume claim holds a copy of the record (annotation " + kube.AnnotationRecord + ")"
	default:
		k.Record = newest.cluster(namespace, name)
	}
	k.Clear = k.Record != nil && len(labelled) == 1 && labelled[k.Record.Status.ID] && len(copies) == len(k.Volumes) &&
		k.agrees(copies)
	return k, nil
}

// agrees reports whether no copy says otherwise than Record. Copies of earlier
// formations of the cluster are older.
func (k Kept) agrees(copies []recordCopy) bool {
	for _, r := range copies {
		c := r.cluster(k.Record.Namespace, k.Record.Name)
		if c.Status.ID != k.Record.Status.ID || kube.Token(c) == kube.Token(k.Record) && copyOf(c) != copyOf(k.Record) {
			return false
		}
	}
	return len(copies) > 0
}

// cluster is the cluster that a copy describes.
func (r recordCopy) cluster(namespace, name string) *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{Spec: r.Spec, Status: r.Status}
	c.Namespace, c.Name, c.Generation, c.Annotations = namespace, name, r.Generation, r.Annotations
	return c
}

// newer compares two copies of one record: a restore in place counts most.
func newer(a, b recordCopy) bool {
	if b.Status.Bootstrap == nil {
		return true
	}
	formed := func(r recordCopy) int { return len(r.Status.Bootstrap.ClusterID) }
	return cmp.Or(
		cmp.Compare(a.Status.Bootstrap.Incarnation, b.Status.Bootstrap.Incarnation),
		cmp.Compare(a.Generation, b.Generation),
		cmp.Compare(formed(a), formed(b))) > 0
}
