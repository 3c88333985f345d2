package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// HandMade is an etcd as a person would write it by hand: one StatefulSet, a
// headless service, and nothing of this tool's.
type HandMade struct {
	Name, Namespace, Image string
	Members                int
	// TLS serves clients with a certificate of the Secret NAME-tls.
	TLS bool
	// Flags besides the necessary ones.
	Flags []string
}

// handMadeUser is the user that the image runs as.
const handMadeUser = int64(65532)

// Create makes it and waits until all members are ready.
func (h HandMade) Create(ctx context.Context, s *Site) error {
	if h.TLS {
		if err := h.createSecret(ctx, s); err != nil {
			return err
		}
	}
	if _, err := s.Client.CoreV1().Services(h.Namespace).Create(ctx,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: h.Name}, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: h.labels(),
			Ports: []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}},
		}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create service %s: %w", h.Name, err)
	}
	if _, err := s.Client.AppsV1().StatefulSets(h.Namespace).Create(ctx, h.set(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create StatefulSet %s: %w", h.Name, err)
	}
	return Until(ctx, 2*time.Minute, "the members of "+h.Name, func(ctx context.Context) error {
		set, err := s.Client.AppsV1().StatefulSets(h.Namespace).Get(ctx, h.Name, metav1.GetOptions{})
		if err == nil && int(set.Status.ReadyReplicas) != h.Members {
			return fmt.Errorf("%d are ready", set.Status.ReadyReplicas)
		}
		return err
	})
}

func (h HandMade) labels() map[string]string { return map[string]string{"app": h.Name} }

func (h HandMade) set() *appsv1.StatefulSet {
	replicas, user, yes, no := int32(h.Members), handMadeUser, true, false // #nosec G115 -- a handful
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: &no,
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{h.container()},
	}
	if h.TLS {
		pod.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: h.Name + "-tls"}}}}
	}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: h.Name}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: h.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: h.labels()},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: h.labels()}, Spec: pod},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: resource.MustParse("512Mi")}},
			}}},
	}}
}

func (h HandMade) container() corev1.Container {
	var all []string
	for i := range h.Members {
		pod := fmt.Sprintf("%s-%d", h.Name, i)
		all = append(all, fmt.Sprintf("member-%s=http://%s.%s.%s.svc:2380", pod, pod, h.Name, h.Namespace))
	}
	host, scheme, no := fmt.Sprintf("$(POD).%s.%s.svc", h.Name, h.Namespace), "http", false
	mounts := []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}}
	var secure []string
	if h.TLS {
		scheme = "https"
		secure = []string{"--cert-file=/certs/tls.crt", "--key-file=/certs/tls.key", "--trusted-ca-file=/certs/ca.crt"}
		mounts = append(mounts, corev1.VolumeMount{Name: "certs", MountPath: "/certs", ReadOnly: true})
	}
	args := []string{
		// A name that is not the pod's.
		"--name=member-$(POD)", "--data-dir=/var/lib/etcd/data",
		"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=" + scheme + "://0.0.0.0:2379",
		"--initial-advertise-peer-urls=http://" + host + ":2380", "--advertise-client-urls=" + scheme + "://" +
			host + ":2379",
		"--initial-cluster=" + strings.Join(all, ","), "--initial-cluster-state=new", "--initial-cluster-token=" + h.Name,
		"--listen-metrics-urls=http://0.0.0.0:2381",
	}
	return corev1.Container{
		Name: "etcd", Image: h.Image, Command: []string{"/usr/local/bin/etcd"}, Args: append(append(args, secure...),
			h.Flags...),
		Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.name"}}}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		VolumeMounts: mounts,
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(2381)}}},
	}
}

// createSecret makes an authority and a certificate for every member.
func (h HandMade) createSecret(ctx context.Context, s *Site) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate a key: %w", err)
	}
	now := time.Now()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: h.Name + " by hand"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: h.Name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		DNSNames: []string{"*." + h.Name + "." + h.Namespace + ".svc"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		return fmt.Errorf("sign an authority: %w", err)
	}
	member, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), key)
	if err != nil {
		return fmt.Errorf("sign a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	block := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	_, err = s.Client.CoreV1().Secrets(h.Namespace).Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: h.Name +
			"-tls"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{"tls.crt": block("CERTIFICATE", member), "tls.key": block("PRIVATE KEY", private),
				"ca.crt": block("CERTIFICATE", signed)}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create secret %s-tls: %w", h.Name, err)
	}
	return nil
}
