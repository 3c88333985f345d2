package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const (
	barJob       = 1.3
	barAnonymous = 160.0
)

// measureBackupJob holds backups by a Job into an object store, and into a claim, against etcdctl in a pod, which
// leaves its file there.
func measureBackupJob(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		image, err := b.large(ctx, ns)
		if err != nil {
			return err
		}
		if err := b.addClaim(ctx, ns); err != nil {
			return err
		}
		repositories := []string{"offsite", "nearby"}
		places := map[string]string{"offsite": "S3", "nearby": "a claim with a name"}
		ours := map[string]*samples{"offsite": {}, "nearby": {}}
		var theirs samples
		backup := func(repository string) error {
			r, err := b.dbop(ctx, "backup", "big", "--repository", repository, "-n", ns)
			ours[repository].took(r.Duration)
			return err
		}
		for i := range b.repeats {
			for _, repository := range repositories {
				if err := backup(repository); err != nil {
					return err
				}
				fmt.Printf("backup into %s %.2f s\n", places[repository], (*ours[repository])[i])
			}
			p := snapshotPod(image)
			p.Name = fmt.Sprintf("%s-%d", p.Name, i)
			took, err := b.runPod(ctx, ns, p)
			if err != nil {
				return err
			}
			theirs.took(took)
			if err := b.site.Client.CoreV1().Pods(ns).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil {
				return fmt.Errorf("delete pod %s: %w", p.Name, err)
			}
			fmt.Printf("etcdctl in a pod %.2f s\n", theirs[i])
		}
		for _, repository := range repositories {
			b.rows.judged(fmt.Sprintf("backup of %d MiB by a Job into %s ÷ etcdctl snapshot save in a pod", b.sizeMiB,
				places[repository]), ours[repository].median()/theirs.median(), "ratio", barJob,
				"ours, encrypted: "+ours[repository].spread("s")+"; etcdctl to a file in its pod: "+theirs.spread("s"))
		}
		// To observe memory takes processor time, so that round counts for nothing else.
		peak := anonymous{}
		if err := peak.during(ctx, b, ns, func() error { return backup("offsite") }); err != nil {
			return err
		}
		b.rows.judged(fmt.Sprintf("anonymous memory of the pod that backs up %d MiB", b.sizeMiB), peak["backup"], "MiB",
			barAnonymous, "read every 10 ms in a round of its own")
		return nil
	})
}

// large makes a cluster of one member with much in it, and a repository in an object store of the same cluster; it
// returns the image of the member.
func (b *bench) large(ctx context.Context, ns string) (string, error) {
	if !b.site.HasObjectStore() {
		return "", errors.New("there is no image of an object store: run make stores cluster-up")
	}
	if err := b.site.AddObjectStore(ctx, ns, b.home); err != nil {
		return "", err
	}
	if _, err := b.dbop(ctx, "create", "big", "--engine", "etcd", "--members", "1", "--storage", "4Gi", "-n",
		ns); err != nil {
		return "", err
	}
	if err := b.fill(ctx, ns); err != nil {
		return "", err
	}
	return b.imageOf(ctx, ns, "big")
}

// snapshotPod asks the member for a snapshot, as a person would have a pod do.
func snapshotPod(image string) *corev1.Pod {
	yes, no, user, mode := true, false, nobody, int32(0o440)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "snapshot"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no, RestartPolicy: corev1.RestartPolicyNever,
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Volumes: []corev1.Volume{
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: v1alpha1.ClientSecret("big"), DefaultMode: &mode}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Containers: []corev1.Container{{
			Name: "etcdctl", Image: image, Command: []string{"/usr/local/bin/etcdctl"},
			Args: []string{"--endpoints=https://" + v1alpha1.ClientService("big") + ":" + clientPort,
				"--cacert=/tls/ca.crt", "--cert=/tls/tls.crt", "--key=/tls/tls.key", "snapshot", "save", "/scratch/snapshot.db"},
			VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls", ReadOnly: true},
				{Name: "scratch", MountPath: "/scratch"}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}}
}
