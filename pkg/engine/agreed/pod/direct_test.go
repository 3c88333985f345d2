package pod

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	agent "github.com/dbop-dev/kubectl-dbop/pkg/agent/service"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestDirect: members that can be primaries may change the client service, and no others.
func TestDirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		routing           v1alpha1.Routing
		witness, loopback bool
		want              bool
	}{
		"direct":                  {routing: v1alpha1.RoutingDirect, want: true},
		"by default":              {},
		"proxied":                 {routing: v1alpha1.RoutingProxied},
		"a witness":               {routing: v1alpha1.RoutingDirect, witness: true},
		"one that is thrown away": {routing: v1alpha1.RoutingDirect, loopback: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Routing: c.routing}}
			of.Name = "db"
			of.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1"}}
			p, err := Render(engine.PodInput{Cluster: of, Member: "db-1", ToolImage: "tool", Peers: []string{"db-1"},
				Selector: map[string]string{"cluster": "db"}, Witness: c.witness, Loopback: c.loopback},
				Database{Container: "db", Volume: "/data", Key: "valkey"})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Service *agent.Service `json:"service"`
			}
			if err := json.Unmarshal([]byte(p.Container.Env[1].Value), &got); err != nil {
				t.Fatal(err)
			}
			mounted := slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool { return v.Projected != nil })
			if (got.Service != nil) != c.want || mounted != c.want || (p.Account == "db-agents") != c.want {
				t.Fatalf("service %+v, a token is mounted: %t, account %q", got.Service, mounted, p.Account)
			}
			target := "primary"
			if c.routing == v1alpha1.RoutingDirect {
				target = "client"
			}
			if to := Ports(of, 6379)[0].TargetPort.StrVal; to != target {
				t.Errorf("clients go to %s", to)
			}
			if !c.want {
				return
			}
			if diff := cmp.Diff(agent.Service{Namespace: "$(POD_NAMESPACE)", Name: "db-client",
				Selector: map[string]string{"cluster": "db"}, Label: "dbop.dev/member", Credentials: apiPath},
				*got.Service); diff != "" || got.Service.Check() != nil {
				t.Error(diff)
			}
		})
	}
}
