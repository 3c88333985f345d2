package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// plainServer is the least that a person could write by hand: pods of a parallel StatefulSet, each with an empty
// database on a volume of the same class and size as the tool's, without TLS and replication.
type plainServer struct {
	image string
	port  int32
	// script makes the database in /data and runs the server; ready is a command that succeeds once it serves.
	script, ready string
	// storage is the size of its volume, 1Gi by default.
	storage string
}

// create starts so many pods and waits until all are ready.
func (p plainServer) create(ctx context.Context, b *bench, ns, name string, pods int) (time.Duration, error) {
	began := time.Now()
	sets := b.site.Client.AppsV1().StatefulSets(ns)
	if _, err := sets.Create(ctx, p.set(name, pods), metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create the plain StatefulSet: %w", err)
	}
	if err := harness.Until(ctx, healthyWithin, "the plain servers", func(ctx context.Context) error {
		set, err := sets.Get(ctx, name, metav1.GetOptions{})
		if err == nil && int(set.Status.ReadyReplicas) != pods {
			err = fmt.Errorf("%d of %d are ready", set.Status.ReadyReplicas, pods)
		}
		return err
	}); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := sets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("delete the plain StatefulSet: %w", err)
	}
	return took, b.empty(ctx, ns)
}

// run starts one pod, and returns once that runs.
func (p plainServer) run(ctx context.Context, b *bench, ns string) error {
	sets := b.site.Client.AppsV1().StatefulSets(ns)
	if _, err := sets.Create(ctx, p.set("plain", 1), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the plain StatefulSet: %w", err)
	}
	return harness.Until(ctx, healthyWithin, "the plain pod", func(ctx context.Context) error {
		pod, err := b.site.Client.CoreV1().Pods(ns).Get(ctx, "plain-0", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = errors.New("it does not run")
		}
		return err
	})
}

func (p plainServer) set(name string, pods int) *appsv1.StatefulSet {
	replicas, user, yes, no := int32(pods), int64(999), true, false // #nosec G115 -- a handful
	labels := map[string]string{appLabel: name}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			WhenScaled:  appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
				FSGroup:        &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "server", Image: p.image, Command: []string{"sh", "-c", p.script},
				Ports: []corev1.ContainerPort{{ContainerPort: p.port}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"sh", "-c", p.ready}}}},
			}},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse(cmp.Or(p.storage, "1Gi"))}},
			}}},
	}}
}

// creations holds the creation of one member and of three, with TLS and users, against plain servers, one after the
// other, each alone in the namespace.
func creations(of func() (agreed, error)) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		e, err := of()
		if err != nil {
			return err
		}
		return b.inNamespace(ctx, func(ns string) error {
			return errors.Join(b.created(ctx, e, ns, 1), b.created(ctx, e, ns, 3))
		})
	}
}

func (b *bench) created(ctx context.Context, e agreed, ns string, members int) error {
	var ours, plain samples
	for i := range b.rounds {
		began := time.Now()
		if _, err := b.dbop(ctx, "create", "new", "--engine", e.name, "--version", e.from.Version, "--image",
			e.from.Image, "--members", strconv.Itoa(members), "-n", ns); err != nil {
			return err
		}
		ours.took(time.Since(began))
		if err := b.deleteOurs(ctx, ns, "new"); err != nil {
			return err
		}
		took, err := e.plain.create(ctx, b, ns, "plain", members)
		if err != nil {
			return err
		}
		plain.took(took)
		fmt.Printf("create %d: ours %.2f s, plain %.2f s\n", members, ours[i], plain[i])
	}
	b.rows.plain(fmt.Sprintf("create with TLS until the command returns ÷ plain StatefulSet, members: %d", members),
		ours.median()/plain.median(), "ratio", "ours: "+ours.spread("s")+"; plain: "+plain.spread("s"))
	return nil
}
