package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	clientPort = "2379"
	appLabel   = "bench.dbop.dev/plain"
	// nobody is the user that the image runs as.
	nobody = int64(65532)
)

// plainEtcd is the least that a person could write by hand: a parallel
// StatefulSet of three with static bootstrap and no TLS, of the same image,
// volumes of the same class and size, and a headless service.
type plainEtcd struct {
	name, namespace, image string
	members                int
}

func (p plainEtcd) create(ctx context.Context, b *bench) error {
	if _, err := b.site.Client.CoreV1().Services(p.namespace).Create(ctx, p.service(),
		metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the plain service: %w", err)
	}
	if _, err := b.site.Client.AppsV1().StatefulSets(p.namespace).Create(ctx, p.set(),
		metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the plain StatefulSet: %w", err)
	}
	return nil
}

func (p plainEtcd) quorum(b *bench) *quorum {
	return &quorum{site: b.site, namespace: p.namespace, service: p.name, selector: appLabel + "=" + p.name}
}

func (p plainEtcd) labels() map[string]string { return map[string]string{appLabel: p.name} }

func (p plainEtcd) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: p.labels(),
		Ports: []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}},
	}}
}

func (p plainEtcd) set() *appsv1.StatefulSet {
	replicas, user, yes, no := int32(p.members), nobody, true, false // #nosec G115 -- a handful
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: p.name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: p.labels()},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			WhenScaled:  appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.labels()}, Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
				FSGroup:        &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{p.container()},
		}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}},
	}}
}

func (p plainEtcd) container() corev1.Container {
	var all []string
	for i := range p.members {
		pod := fmt.Sprintf("%s-%d", p.name, i)
		all = append(all, fmt.Sprintf("%s=http://%s.%s.%s.svc:2380", pod, pod, p.name, p.namespace))
	}
	host := fmt.Sprintf("$(POD).%s.%s.svc", p.name, p.namespace)
	no := false
	return corev1.Container{
		Name: "etcd", Image: p.image, Command: []string{"/usr/local/bin/etcd"},
		Args: []string{
			"--name=$(POD)", "--data-dir=/var/lib/etcd/data",
			"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379",
			"--initial-advertise-peer-urls=http://" + host + ":2380", "--advertise-client-urls=http://" + host + ":2379",
			"--initial-cluster=" + strings.Join(all, ","), "--initial-cluster-state=new", "--initial-cluster-token=" + p.name,
			"--listen-metrics-urls=http://0.0.0.0:2381",
		},
		Env: []corev1.EnvVar{{Name: "POD",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(2381)}}},
	}
}
