package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestRecognize(t *testing.T) {
	t.Parallel()
	sidecar := corev1.Container{Name: "exporter", Image: "example.org/etcd-exporter:1",
		Args: []string{"--endpoint=http://127.0.0.1:2379"}}
	for name, c := range map[string]struct {
		container corev1.Container
		want      engine.MemberConfig
	}{
		"flags": {corev1.Container{Name: "db", Image: "example.org/etcd:v3.6.16", Args: []string{"--name=$(POD)",
			"--listen-client-urls=https://0.0.0.0:2479,http://127.0.0.1:1", "--cert-file=/c/tls.crt", "--key-file=/c/tls.key",
			"--trusted-ca-file=/c/ca.crt", "--client-cert-auth=true", "--initial-advertise-peer-urls=https://x:2380",
			"--auto-compaction-retention=1h", "--unsafe-no-fsync"}},
			engine.MemberConfig{Container: "db", Image: "example.org/etcd:v3.6.16", Port: 2479, TLS: true, PeerTLS: true,
				ClientCertificates: true, Certificate: "/c/tls.crt", Key: "/c/tls.key", Authority: "/c/ca.crt",
				Options: map[string]string{"auto-compaction-retention": "1h"}, Dangerous: []string{"unsafe-no-fsync"}}},
		"variables of a chart": {corev1.Container{Name: "etcd", Image: "docker.io/bitnami/etcd:3.5.21",
			Env: []corev1.EnvVar{
				{Name: "ETCD_LISTEN_CLIENT_URLS", Value: "http://0.0.0.0:2379"},
				{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "100000000"},
				{Name: "ETCD_ROOT_PASSWORD", Value: "very secret"},
				{Name: "ETCD_TRUSTED_CA_FILE", ValueFrom: &corev1.EnvVarSource{}}}},
			engine.MemberConfig{Container: "etcd", Image: "docker.io/bitnami/etcd:3.5.21", Port: 2379,
				Options: map[string]string{"quota-backend-bytes": "100000000"}}},
		"a shell": {corev1.Container{Name: "x", Image: "example.org/own",
			Command: []string{"/bin/sh", "-ec",
				"PEERS=a\nexec etcd --name ${HOSTNAME} \\\n  --listen-client-urls http://${IP}:2379 \\\n " +
					"--experimental-initial-corrupt-check --data-dir /d"}},
			engine.MemberConfig{Container: "x", Image: "example.org/own", Port: 2379,
				Options: map[string]string{"experimental-initial-corrupt-check": "true"}}},
		"a flag outweighs a variable": {corev1.Container{Name: "x", Image: "etcd", Args: []string{"--max-wals=3"},
			Env: []corev1.EnvVar{{Name: "ETCD_MAX_WALS", Value: "4"}}},
			engine.MemberConfig{Container: "x", Image: "etcd", Port: 2379, Options: map[string]string{"max-wals": "3"}}},
		"a file": {corev1.Container{Name: "x", Image: "etcd", Args: []string{"--config-file", "/etc/etcd.yaml"},
			Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 4001}}},
			engine.MemberConfig{Container: "x", Image: "etcd", Port: 4001, Hidden: "the file /etc/etcd.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := New().Recognize(corev1.PodSpec{Containers: []corev1.Container{sidecar, c.container}})
			if diff := cmp.Diff(c.want, got); !ok || diff != "" {
				t.Errorf("recognized %v (-want +got):\n%s", ok, diff)
			}
		})
	}
	if got, ok := New().Recognize(corev1.PodSpec{Containers: []corev1.Container{sidecar,
		{Name: "web", Image: "nginx"}}}); ok {
		t.Errorf("recognized %+v", got)
	}
}
