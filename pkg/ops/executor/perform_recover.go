package executor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// recoverySource is where the volume to recover appears, read-only.
const recoverySource = "/source"

// logRoom is what a copy needs beyond the data file: the log is kept in
// segments of 64 MiB, of which a few wait to be dropped.
const logRoom = 512 << 20

// forgetPods removes pods that no kubelet will ever confirm gone.
func (l *Executor) forgetPods(ctx context.Context, t task) error {
	for _, m := range t.Members {
		if err := l.forgetPod(ctx, t.State, m); err != nil {
			return err
		}
	}
	return nil
}

func (l *Executor) forgetPod(ctx context.Context, s ops.State, member string) error {
	k := s.Kube.Member(member)
	if !health.OnLostNode(s, k) {
		return nil
	}
	if err := workload.ForgetPod(ctx, l.Client, s.Cluster.Namespace, v1alpha1.PodName(member), k.Pod.UID); err != nil {
		return fmt.Errorf("forget the pod of %s: %w", member, err)
	}
	return nil
}

// fence stops members, and lets go of the pods of those whose node a person
// called dead, once no workload would make them again.
func (l *Executor) fence(ctx context.Context, t task) error {
	for _, m := range t.Members {
		if t.Kube.Member(m).Workload.Exists {
			continue
		}
		if err := l.forgetPod(ctx, t.State, m); err != nil {
			return err
		}
	}
	return l.stop(ctx, t)
}

// examiner is the pod that reads the volume of a member for an operation. What one that was left by another operation
// read may have been written over since.
func examiner(op *v1alpha1.Operation, member string) string { return member + "-examine-" + markOf(op) }

// markOf tells the pods of one operation from those of another.
func markOf(op *v1alpha1.Operation) string {
	sum := sha256.Sum256([]byte(op.Name))
	return hex.EncodeToString(sum[:4])
}

// examine has pods of this tool read the volumes of members, all at the same time, and takes their reports.
func (l *Executor) examine(ctx context.Context, t task) (ops.Result, error) {
	facts, waits := map[string]string{}, error(nil)
	for _, m := range t.Members {
		report, err := l.examineVolume(ctx, t, m)
		switch {
		case errors.Is(err, engine.ErrNotReady):
			waits = cmp.Or(waits, err)
		case err != nil:
			return ops.Result{}, errors.Join(outOfReach(err, m), l.forgetExamined(ctx, t.State, t.Members))
		}
		facts[v1alpha1.FactExamined(m)] = report
	}
	if waits != nil {
		return ops.Result{}, waits
	}
	return ops.Result{Facts: facts}, l.forgetExamined(ctx, t.State, t.Members)
}

// examineVolume returns what a pod read of the volume of a member; ErrNotReady until it has.
func (l *Executor) examineVolume(ctx context.Context, t task, member string) (string, error) {
	name := examiner(t.Operation, member)
	h, err := l.helper(ctx, t.State, name, func() error {
		pod, err := l.recoveryPod(t.State, member)
		if err != nil {
			return err
		}
		return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: name, Namespace: l.Namespace, Cluster: t.Cluster,
			Purpose: helperpod.PurposeExamine, Image: l.helperImage(t.Cluster),
			Args: []string{"helper", "examine", "--engine", l.Engine.Name(), "--dir", pod.DataDir, "--report",
				corev1.TerminationMessagePathDefault},
			Claim: v1alpha1.VolumeName(member), MountPath: pod.DataPath, User: pod.User, ReadOnly: true,
			Node: mountedAt(t.State, v1alpha1.VolumeName(member))})
	})
	if err != nil {
		return "", err
	}
	if !h.Done {
		return "", fmt.Errorf("the volume of %s is being read: %w", member, engine.ErrNotReady)
	}
	if _, err := helper.ReadReport(h.Message); err != nil {
		return "", fmt.Errorf("examine the volume of %s: %w", member, err)
	}
	return h.Message, nil
}

// mountedAt is the node of a pod of this tool that uses a claim, "" if none does: no other node may mount it meanwhile.
func mountedAt(s ops.State, claim string) string {
	for _, h := range s.Kube.Helpers {
		if slices.Contains(h.Claims, claim) {
			return h.Node
		}
	}
	return ""
}

// forgetExamined deletes all pods that read volumes of members.
func (l *Executor) forgetExamined(ctx context.Context, s ops.State, members []string) error {
	for _, h := range s.Kube.Helpers {
		if h.Purpose != helperpod.PurposeExamine || !slices.ContainsFunc(members, func(m string) bool {
			return slices.Contains(h.Claims, v1alpha1.VolumeName(m))
		}) {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove helper pod %s: %w", h.Name, err)
		}
	}
	return nil
}

// outOfReach says what to do about a volume that no node can mount.
func outOfReach(err error, member string) error {
	stuck, ok := errors.AsType[*ops.Error](err)
	if ok && (stuck.Check == string(observe.ProblemUnschedulable) || stuck.Check == string(observe.ProblemVolume)) {
		again := *stuck
		again.Hint = "if the volume of " + member +
			" is on a node that is dead for good, leave it out of account: --without " + member
		return &again
	}
	return err
}

// recoverData copies the most advanced data into a throw-away pod, has the copy
// served there by itself, and backs that up. What runs there is reached by
// port-forward alone, and its volume is only ever read.
func (l *Executor) recoverData(ctx context.Context, t task) (ops.Result, error) {
	op, copied := t.Operation, l.recovered(t.State)
	pod := v1alpha1.PodName(copied.Name)
	for _, h := range t.Kube.Helpers {
		if h.Name == pod && h.Failed {
			return ops.Result{}, l.notRecovered(ctx, h, t.Member())
		}
	}
	h, err := l.helper(ctx, t.State, pod, func() error { return l.createRecoveryPod(ctx, t.State, copied, t.Member()) })
	if err != nil {
		return ops.Result{}, outOfReach(err, t.Member())
	}
	if !h.Running {
		return ops.Result{}, fmt.Errorf("the copy of %s is being made and started: %w", t.Member(), engine.ErrNotReady)
	}
	if err := l.backUpRecovered(ctx, t.State, copied, t.Member(), t.report); err != nil {
		return ops.Result{}, err
	}
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, pod); err != nil {
		return ops.Result{}, fmt.Errorf("remove helper pod %s: %w", pod, err)
	}
	id, fact := ops.StoppedBackup(op)
	return ops.Result{Facts: map[string]string{fact: id}}, l.noteBackup(ctx, t.State, id, repository.Manifest{})
}

// stoppedFor says why the members don't run whose data is backed up.
func stoppedFor(op *v1alpha1.Operation) string {
	if ops.Converts(op) {
		return "stopped for the upgrade to " + op.Spec.Version
	}
	return "after quorum was lost"
}

// notRecovered is the end of a pod that could not serve the copy. The next try
// begins again.
func (l *Executor) notRecovered(ctx context.Context, h observe.Helper, member string) error {
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
		return fmt.Errorf("remove failed helper pod %s: %w", h.Name, err)
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: "recover",
		Message: fmt.Sprintf("a copy of the data of %s does not serve: %s", member,
			cmp.Or(h.Message, "it left no message")),
		Hint: fmt.Sprintf(
			"the same command tries again; to leave this data out of account: --without %s; to use a backup: --method backup",
			member)}
}

// recovered is the cluster of one member that serves the copy.
func (l *Executor) recovered(s ops.State) *v1alpha1.DatabaseCluster {
	t := &v1alpha1.DatabaseCluster{}
	t.Name, t.Namespace = "recover-"+markOf(s.Operation), l.Namespace
	like := s.Cluster.Spec
	t.Spec = v1alpha1.DatabaseClusterSpec{Engine: like.Engine, Version: like.Version, Image: like.Image, Members: 1,
		Registry: like.Registry, HelperImage: like.HelperImage,
		Storage: like.Storage, TLS: v1alpha1.TLS{Disabled: true}}
	t.Status.Bootstrap = &v1alpha1.Bootstrap{Token: t.Name, Members: []string{t.Name}}
	return t
}

// recoveryPod renders the pod that serves a copy.
func (l *Executor) recoveryPod(s ops.State, member string) (engine.Pod, error) {
	recoverer, ok := l.Engine.(engine.DataRecoverer)
	if !ok {
		return engine.Pod{}, fmt.Errorf("recover the data of %s: engine %s can't", member, l.Engine.Name())
	}
	t := l.recovered(s)
	image, err := l.image(t, t.Spec.Version)
	if err != nil {
		return engine.Pod{}, err
	}
	return recoverer.RecoveryPod(engine.PodInput{Cluster: t, ToolImage: l.helperImage(t), Member: t.Name, Image: image,
		Version: t.Spec.Version,
		Peers:   []string{t.Name}})
}

func (l *Executor) createRecoveryPod(ctx context.Context, s ops.State, t *v1alpha1.DatabaseCluster,
	member string) error {
	pod, err := l.recoveryPod(s, member)
	if err != nil {
		return err
	}
	data := operation.VolumesExamined(rules.Situation{E: l.Engine, S: s}, []string{member})[0]
	room := resource.NewQuantity(data.Bytes+logRoom, resource.BinarySI)
	from := path.Join(recoverySource, strings.TrimPrefix(pod.DataDir, pod.DataPath))
	return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: v1alpha1.PodName(t.Name), Namespace: l.Namespace,
		Cluster: s.Cluster, Purpose: helperpod.PurposeRecover, Deadline: workload.LongestStream,
		Image: pod.Container.Image, InstallFrom: l.helperImage(t), MountPath: pod.DataPath, User: pod.User,
		SourceClaim: v1alpha1.VolumeName(member), SourcePath: recoverySource,
		Command:   []string{helperpod.InstalledBinary, "helper", "copy", "--from", from, "--to", pod.DataDir},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceEphemeralStorage: *room}},
		Then:      &pod.Container, ThenInit: pod.Init, ThenVolumes: pod.Volumes})
}

// backUpRecovered streams what the copy serves into the repository. A backup
// of this operation that is whole already is the one.
func (l *Executor) backUpRecovered(ctx context.Context, s ops.State, t *v1alpha1.DatabaseCluster, member string,
	report func(int64, int64)) error {
	access := engine.Access{Cluster: t, Dial: func(ctx context.Context, pod string, port int) (net.Conn, error) {
		return l.Dialer.DialLoopback(ctx, l.Namespace, pod, port)
	}}
	if s.Cluster.Spec.Auth.Enabled {
		// The data is this very cluster's, and so are its passwords.
		access.Credentials = l.passwords(s.Cluster, v1alpha1.PasswordSecret(s.Cluster.Name, v1alpha1.AdminUser))
	}
	session, err := l.Engine.Connect(access)
	if err != nil {
		return err
	}
	defer closing(session)
	source := session.Observe(ctx, []string{t.Name}).Member(t.Name)
	if !source.Serving {
		return fmt.Errorf("the copy of %s does not serve yet: %w", member, engine.ErrNotReady)
	}
	op := s.Operation.DeepCopy()
	op.Spec.Backup, _ = ops.StoppedBackup(op)
	repo, err := l.repositories(s.Cluster).Open(ctx, l.Namespace, op.Spec.Repository)
	if err != nil {
		return err
	}
	defer closing(repo)
	if have, err := repo.Get(ctx, op.Spec.Backup); err == nil && have.Operation == op.Name {
		return nil
	}
	data := operation.VolumesExamined(rules.Situation{E: l.Engine, S: s}, []string{member})[0]
	_, err = l.streamTo(ctx, repo, op, session, source, longest(s, member), repository.Manifest{
		ClusterID: s.Bootstrap().ClusterID, Member: member, Facts: membership(s),
		Origin: "a copy of the volume of " + member + " " + stoppedFor(op) + ": " + data.Summary}, report)
	return err
}
