package foreign

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestRecognize: servers of charts and operators are found beside what else runs in their pods.
func TestRecognize(t *testing.T) {
	t.Parallel()
	port := func(name string, n int32) []corev1.ContainerPort {
		return []corev1.ContainerPort{{Name: name, ContainerPort: n}}
	}
	for name, c := range map[string]struct {
		containers []corev1.Container
		want       engine.MemberConfig
		other      bool
	}{
		"the official image": {containers: []corev1.Container{{Name: "db", Image: "docker.io/library/postgres:17.5"}},
			want: engine.MemberConfig{Container: "db", Image: "docker.io/library/postgres:17.5", Port: 5432}},
		"a chart with an exporter": {containers: []corev1.Container{
			{Name: "metrics", Image: "bitnami/postgres-exporter:0.17", Ports: port("http-metrics", 9187)},
			{Name: "postgresql", Image: "bitnami/postgresql:16.4.0", Ports: port("tcp-postgresql", 5433),
				Env: []corev1.EnvVar{{Name: "PGDATA", Value: "/bitnami/postgresql/data"}}},
		}, want: engine.MemberConfig{Container: "postgresql", Image: "bitnami/postgresql:16.4.0", Port: 5433}},
		"another image, by its environment": {containers: []corev1.Container{{Name: "db", Image: "corporate/base:1",
			Ports: port("", 5432), Env: []corev1.EnvVar{{Name: "PGDATA", Value: "/data"}}}},
			want: engine.MemberConfig{Container: "db", Image: "corporate/base:1", Port: 5432}},
		"options and a password": {containers: []corev1.Container{{Name: "db", Image: "postgres@sha256:00",
			Command: []string{"postgres", "-c", "ssl=on", "-cssl_cert_file=/tls/tls.crt"}, Args: []string{"--work-mem=8MB"},
			Env: []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", Value: "secret"}}}},
			want: engine.MemberConfig{Container: "db", Image: "postgres@sha256:00", Port: 5432, TLS: true,
				Certificate: "/tls/tls.crt", Dangerous: []string{"password"},
				Options: map[string]string{"ssl": "on", "ssl_cert_file": "/tls/tls.crt", "work_mem": "8MB"}}},
		"a password from a secret": {containers: []corev1.Container{{Name: "db", Image: "postgis/postgis:17-3.5",
			Env: []corev1.EnvVar{{Name: "POSTGRES_PASSWORD", ValueFrom: &corev1.EnvVarSource{}}}}},
			want: engine.MemberConfig{Container: "db", Image: "postgis/postgis:17-3.5", Port: 5432}},
		"a client": {containers: []corev1.Container{{Name: "app", Image: "corporate/app:1"}}, other: true},
		"a pool": {containers: []corev1.Container{{Name: "p", Image: "edoburu/pgbouncer", Ports: port("", 5432)}},
			other: true},
		"a port by itself": {containers: []corev1.Container{{Name: "p", Image: "corporate/app", Ports: port("", 5432)}},
			other: true},
	} {
		got, is := Recognize(corev1.PodSpec{Containers: c.containers})
		if is == c.other {
			t.Errorf("%s: recognized is %t", name, is)
			continue
		}
		if !c.other {
			c.want.Hidden = "the files of the server"
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
