//go:build e2e

package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// image is one that the site has of a release.
func (s *scene) image(version string) string {
	return s.site.Env["DBOP_REGISTRY"] + "/etcd-development/etcd:v" + version
}

// inside runs etcdctl in a pod that something else made.
func (s *scene) inside(pod string, args ...string) {
	s.Helper()
	r, err := s.site.Tool("kubectl", "").Run(s.ctx, append([]string{"exec", "-n", s.ns, pod, "--",
		"/usr/local/bin/etcdctl"}, args...)...)
	if err != nil || r.Code != 0 {
		s.Fatalf("%v\n%s", err, r)
	}
}

// inspection is what inspect says, as a program reads it.
type inspection struct {
	TLS     bool   `json:"tls"`
	Auth    string `json:"auth"`
	Quorum  bool   `json:"quorum"`
	Members []struct {
		Name, Pod, Version, Role string
		Reachable                bool
	} `json:"members"`
	Findings []struct{ Severity, Subject, What string } `json:"findings"`
}

func (s *scene) inspect(code int, args ...string) inspection {
	s.Helper()
	r := s.try(append([]string{"inspect", "-o", "json"}, args...)...)
	if r.Code != code {
		s.Fatalf("expected exit code %d:\n%s", code, r)
	}
	var in inspection
	s.ok(json.Unmarshal([]byte(r.Stdout), &in))
	return in
}

func (in inspection) says(subject, words string) bool {
	for _, f := range in.Findings {
		if f.Subject == subject && strings.Contains(f.What, words) {
			return true
		}
	}
	return false
}

// frozen asks that nothing in the namespace, and no revision of the database,
// changes meanwhile.
func (s *scene) frozen(do func()) {
	s.Helper()
	var before string
	s.ok(harness.Until(s.ctx, podWithin, "the namespace to be still", func(ctx context.Context) error {
		before = s.versions()
		return s.settled(ctx, func() bool { return s.versions() == before })
	}))
	do()
	if after := s.versions(); after != before {
		s.Errorf("objects changed:\n%s\nbefore:\n%s", after, before)
	}
}

func (s *scene) versions() string {
	s.Helper()
	r, err := s.site.Tool("kubectl", "").Run(s.ctx, "get",
		"statefulsets,pods,services,secrets,configmaps,persistentvolumeclaims,leases", "-n", s.ns,
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}{" "}{.metadata.resourceVersion}{"\n"}{end}`)
	s.ok(err)
	return r.Stdout
}

// TestOutsidePlain reads an etcd that was made by hand without any
// security, and brings it into a cluster of this tool's.
func TestOutsidePlain(t *testing.T) {
	s := newScene(t, "outside", "my-db")
	s.ok(harness.HandMade{Name: "hand", Namespace: s.ns, Image: s.image("3.6.16"), Members: 3,
		Flags: []string{"--experimental-watch-progress-notify-interval=10m"}}.Create(s.ctx, s.site))
	for i := range 3 {
		s.inside(fmt.Sprintf("hand-%d", i), "put", fmt.Sprintf("/kept/%d", i), "value")
	}
	var in inspection
	s.frozen(func() { in = s.inspect(10, "hand") })
	if in.TLS || in.Auth != "off" || !in.Quorum || len(in.Members) != 3 {
		t.Errorf("%+v", in)
	}
	for _, m := range in.Members {
		if !m.Reachable || m.Version != "3.6.16" || m.Name != "member-"+m.Pod {
			t.Errorf("%+v", m)
		}
	}
	for subject, words := range map[string]string{"access": "everybody who reaches",
		"flags": "3.7 does not start with --experimental-watch", "disruption budget": "there is none",
		"compaction": "no automatic", "anti-affinity": "nothing keeps", "members": "all 3 are healthy"} {
		if !in.says(subject, words) {
			t.Errorf("no finding of %s says %q: %+v", subject, words, in.Findings)
		}
	}
	s.inspect(10, "-l", "app=hand")
	s.inspect(10, "--endpoints", "hand-0:2379,hand-2")
	s.refused(6, []string{"neither a StatefulSet nor a cluster"}, "inspect", "nobody")
	s.refused(2, []string{"exactly one way"}, "inspect", "hand", "-l", "app=hand")

	s.frozen(func() { s.must("backup", "--from-statefulset", "hand") })
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	if b.Count("keys") != 3 || !strings.HasPrefix(b.ID, "hand-") {
		t.Errorf("%+v", b)
	}
	s.must("backup", "verify", b.ID)
	s.must("restore", "my-db", "--from", b.ID, "--storage", storage)
	s.healthy("my-db", 3)
	s.kept("my-db", 3)
	if own := s.inspect(0, "my-db"); !own.TLS || len(own.Members) != 3 {
		t.Errorf("our own: %+v", own)
	}
}

// TestOutsideSecured does the same where clients need TLS and a password.
func TestOutsideSecured(t *testing.T) {
	s := newScene(t, "outside", "my-db")
	s.ok(harness.HandMade{Name: "hand", Namespace: s.ns, Image: s.image("3.5.35"), Members: 1, TLS: true}.Create(s.ctx,
		s.site))
	pod := "hand-0"
	flags := []string{"--endpoints=https://" + pod + ".hand." + s.ns + ".svc:2379", "--cacert=/certs/ca.crt",
		"--cert=/certs/tls.crt", "--key=/certs/tls.key"}
	for _, args := range [][]string{{"put", "/kept/1", "value"}, {"user", "add", "root:very secret"},
		{"auth", "enable"}} {
		s.inside(pod, append(flags, args...)...)
	}
	_, err := s.site.Client.CoreV1().Secrets(s.ns).Create(s.ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hand-root"}, Type: corev1.SecretTypeBasicAuth,
			StringData: map[string]string{"username": "root", "password": "very secret"}}, metav1.CreateOptions{})
	s.ok(err)
	r := s.try("inspect", "hand")
	if r.Code == 0 || !strings.Contains(r.Stdout, "--user-secret") || !strings.Contains(r.Stdout, "secret hand-tls") {
		t.Errorf("without a password:\n%s", r)
	}
	s.refused(4, []string{"no member of hand is fit"}, "backup", "--from-statefulset", "hand")
	var in inspection
	s.frozen(func() { in = s.inspect(0, "hand", "--user-secret", "hand-root") })
	if !in.TLS || in.Auth != "on" || !in.Quorum || !in.says("size", "one member") {
		t.Errorf("%+v", in)
	}
	s.refused(1, []string{"secret", "none"}, "inspect", "hand", "--cert-secret", "none")
	s.must("backup", "--from-statefulset", "hand", "--user-secret", "hand-root", "--ca-secret", "hand-tls")
	b, err := harness.LastBackup(s.backups)
	s.ok(err)
	raw, err := os.ReadFile(filepath.Clean(b.Manifest))
	s.ok(err)
	if !strings.Contains(string(raw), `"auth": true`) || strings.Contains(string(raw), "very secret") {
		t.Errorf("the manifest:\n%s", raw)
	}
	// The certificate of this tool's administrator names root, whom the data knows.
	s.must("restore", "my-db", "--from", b.ID, "--members", "1", "--storage", storage)
	// Its initial member served the very keys of the backup, or it would not have formed.
	if own := s.inspect(0, "my-db"); !own.Quorum || own.Auth == "off" {
		t.Errorf("restored: %+v", own)
	}
}

// kept asks that a restored cluster serves what the one made by hand held.
func (s *scene) kept(name string, keys int) {
	s.Helper()
	found, err := harness.ReadAll(s.ctx, s.dial(name), "/kept/")
	s.ok(err)
	if len(found) != keys {
		s.Errorf("%s serves %d of %d keys", name, len(found), keys)
	}
}
