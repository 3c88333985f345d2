package chart

import (
	"strings"
	"testing"
)

const tool = `
kind: Namespace
metadata: {name: dbop-system}
---
kind: Deployment
metadata: {name: op, namespace: dbop-system, labels: {app: x}}
spec: {replicas: 2, args: [a, b]}
---
kind: ClusterRole
metadata: {name: op}
rules: [{verbs: [get]}]
`

func TestSame(t *testing.T) {
	t.Parallel()
	rendered := `
kind: Deployment
metadata: {name: op, namespace: dbop-system, labels: {app: x, helm.sh/chart: c-1, app.kubernetes.io/managed-by: Helm}, annotations: {helm.sh/resource-policy: keep}}
spec: {replicas: 2.0, args: [a, b]}
---
kind: ClusterRole
metadata: {name: op}
rules: [{verbs: [get]}]
`
	for name, c := range map[string]struct{ from, to, want string }{
		"the same": {},
		"a number": {"replicas: 2.0", "replicas: 3", "Deployment dbop-system/op is not the same: .spec.replicas: 3 " +
			"in the chart, 2 of the tool"},
		"an element":      {"[a, b]", "[a, c]", ".spec.args[1]: c in the chart, b of the tool"},
		"one more":        {"[a, b]", "[a, b, c]", ".spec.args: [a b c]"},
		"a field too few": {"rules: [{verbs: [get]}]", "", "ClusterRole op is not the same: .rules"},
		"a field more":    {"[{verbs: [get]}]", "[{verbs: [get], resources: [pods]}]", ".rules[0].resources"},
		"another shape":   {"[{verbs: [get]}]", "{verbs: [get]}", "ClusterRole op is not the same: .rules"},
		"a label":         {"app: x", "app: z", ".metadata.labels.app"},
		"an object less":  {"kind: ClusterRole", "kind: Role", "ClusterRole op is not in the chart"},
		"an object more":  {"kind: ClusterRole", "kind: Role", "Role op is in the chart alone"},
		"one twice": {"kind: ClusterRole\nmetadata: {name: op}", "kind: Deployment\nmetadata: {name: op, namespace: " +
			"dbop-system}", "there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Same([]byte(strings.Replace(rendered, c.from, c.to, 1)), []byte(tool))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if Same([]byte(rendered), nil) == nil {
		t.Error("nothing is the same as something")
	}
}
