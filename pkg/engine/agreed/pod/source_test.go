package pod

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestSource: the first members of the first incarnation alone are told whom to follow, and every member with data can
// log in there.
func TestSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bootstrap, witness bool
		incarnation        int64
		follows, secret    bool
	}{
		"a first member":           {bootstrap: true, follows: true, secret: true},
		"one that joins":           {secret: true},
		"a witness":                {bootstrap: true, witness: true, follows: true},
		"after a restore in place": {bootstrap: true, incarnation: 1, secret: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{
				Source: &v1alpha1.Source{Address: "there:6379", User: "mover", Secret: "there", TLS: true}}}
			of.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1"}}
			for range c.incarnation {
				of.Status.Bootstrap.Incarnation++
			}
			p, err := Render(engine.PodInput{Cluster: of, Member: "db-1", ToolImage: "tool", Peers: []string{"db-1"},
				Bootstrap: c.bootstrap, Witness: c.witness}, Database{Container: "db", Volume: "/data", Key: "valkey"})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Source       *protocol.Source `json:"source"`
				SourceSecret string           `json:"sourceSecret"`
			}
			if err := json.Unmarshal([]byte(p.Container.Env[1].Value), &got); err != nil {
				t.Fatal(err)
			}
			if want := (protocol.Source{Address: "there:6379", User: "mover", TLS: true}); (got.Source != nil) != c.follows ||
				c.follows && *got.Source != want {
				t.Errorf("it is told to follow %+v", got.Source)
			}
			mounted := slices.ContainsFunc(p.Container.VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.MountPath == got.SourceSecret
			}) && slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool {
				return v.Secret != nil && v.Secret.SecretName == "there" && *v.Secret.Optional
			})
			if mounted != c.secret {
				t.Errorf("the secret is mounted: %t", mounted)
			}
			sealed := DisableBootstrap(corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{p.Container}}})
			if text := sealed.Spec.Containers[0].Env[1].Value; strings.Contains(text, "there:6379") {
				t.Errorf("it can follow after the cluster was founded: %s", text)
			}
		})
	}
}
