package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// archiveLog makes or changes what archives the log of a cluster. A repeat changes nothing.
func (l *Executor) archiveLog(ctx context.Context, t task) error {
	set, err := l.archive(ctx, t.State)
	if err != nil {
		return err
	}
	return l.Client.Apply(ctx, t.Cluster, set)
}

func (l *Executor) unarchive(ctx context.Context, t task) error {
	err := l.change(ctx, func(c *v1alpha1.DatabaseCluster) {
		if b := c.Status.LastBackup; b != nil {
			b.Log = "" // another log would begin with a gap
		}
	})
	if err != nil {
		return fmt.Errorf("note that no log goes on from the newest backup: %w", err)
	}
	return helperpod.DeleteKeeper(ctx, l.Client, t.Cluster, v1alpha1.Archive(t.Cluster.Name))
}

// mayArchive refuses settings that have members keep a log which nobody could take.
func (l *Executor) mayArchive(ctx context.Context, s ops.State) error {
	name := health.ArchiveRepository(l.Engine, s)
	if name == "" {
		return nil
	}
	_, err := l.findRepository(ctx, name)
	return err
}

// madeArchive is what archives the log, to compare with; nil where it is about to change, or can't be rendered.
func (l *Executor) madeArchive(ctx context.Context,
	c *v1alpha1.DatabaseCluster) func(observe.Facts) *appsv1.StatefulSet {
	if health.ArchiveRepository(l.Engine, ops.State{Cluster: c}) == "" || c.Spec.Stopped {
		return nil
	}
	return func(f observe.Facts) *appsv1.StatefulSet {
		s := ops.State{Cluster: c, Kube: f}
		if f.Archive.Exists && f.Archive.Settings != planner.For(l.Engine, s).Archive().Digest() {
			return nil
		}
		set, err := l.archive(ctx, s)
		if err != nil {
			return nil // the pod itself says what it lacks
		}
		return set
	}
}

// archive renders what archives the log. Its image stays the one that it was made with.
func (l *Executor) archive(ctx context.Context, s ops.State) (*appsv1.StatefulSet, error) {
	c, want := s.Cluster, planner.For(l.Engine, s).Archive()
	d, err := l.repositories(c).Describe(ctx, l.Namespace, want.Repository)
	if err != nil {
		return nil, err
	}
	record := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: c.Spec.Engine, TLS: c.Spec.TLS},
		Status: v1alpha1.DatabaseClusterStatus{ID: c.Status.ID,
			Bootstrap: &v1alpha1.Bootstrap{Token: want.Token, Members: want.Members, ClusterID: s.Bootstrap().ClusterID}}}
	record.Name, record.Namespace = c.Name, l.Namespace
	raw, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("write down what archives the log of %s: %w", c.Name, err)
	}
	image := s.Kube.Archive.Image
	if image == "" || c.Spec.HelperImage != "" {
		image = l.helperImage(c)
	}
	in := helperpod.Spec{Name: v1alpha1.Archive(c.Name), Namespace: l.Namespace, Cluster: c,
		Purpose: helperpod.PurposeArchive, Image: image, Args: []string{"helper", "archive"},
		Resources: workload.ScheduleResources(), Env: map[string]string{helper.EnvArchive: string(raw)},
		Annotations: map[string]string{kube.AnnotationSettings: want.Digest()}, SameNode: sameNode(d),
		Files: append(repositoryFiles(d, false, true),
			helperpod.Files{Volume: secretFiles("tls", v1alpha1.AdminSecret(c.Name)), Path: helper.BackupTLS},
			helperpod.Files{Volume: authority(), Path: filepath.Dir(helper.MountedAuthority)})}
	return helperpod.BuildKeeper(in, c.Spec.Stopped), nil
}

// authority is what tells one Kubernetes cluster from another, also to a pod without rights: its controller manager
// writes the certificates of the API server into each namespace. A copy of a namespace has those of its own cluster.
func authority() corev1.Volume {
	return corev1.Volume{Name: "kubernetes", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Optional: new(true)}}}
}
