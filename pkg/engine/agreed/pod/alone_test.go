package pod

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestAlone: a throw-away member names no certificate and no member of a cluster, and listens to nobody.
func TestAlone(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{TLS: v1alpha1.TLS{Disabled: true}}}
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "verify-1", Members: []string{"verify"}}
	p, err := Render(engine.PodInput{Cluster: c, Member: "verify", ToolImage: "tool", Loopback: true}, Database{
		Container: "db", Volume: "/data", Port: 5432, Key: "postgres", Config: map[string]any{"bin": "/bin"},
		Settings: protocol.Settings{Durability: protocol.Strict},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Init) != 1 || len(p.Volumes) != 3 || p.Container.LivenessProbe != nil {
		t.Errorf("it has %d init containers, %d volumes, the probe %v", len(p.Init), len(p.Volumes),
			p.Container.LivenessProbe)
	}
	raw := p.Container.Env[1].Value
	var got struct {
		Alone          bool                     `json:"alone"`
		Listen         string                   `json:"listen"`
		API            map[string]string        `json:"api"`
		InitialMembers []protocol.InitialMember `json:"initialMembers"`
		Settings       protocol.Settings        `json:"settings"`
	}
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Alone || got.Listen != "127.0.0.1:9741" || got.API["listen"] != "127.0.0.1:9740" ||
		len(got.InitialMembers) != 1 || got.Settings.Durability != protocol.Async {
		t.Errorf("it is %+v", got)
	}
	for _, word := range []string{"certificate", "proxy", "health", "svc"} {
		if strings.Contains(raw, word) {
			t.Errorf("it names a %s: %s", word, raw)
		}
	}
}
