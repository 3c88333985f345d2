package preflight

// Right is one thing that a user may do in a namespace, as RBAC spells it.
type Right struct {
	Verb  string `json:"verb"`
	Group string `json:"group,omitempty"`
	// Resource with its subresource: "pods/portforward".
	Resource string `json:"resource"`
	// Role of deploy/rbac that grants it.
	Role string `json:"role"`
}

// String is verb and resource: "create statefulsets.apps".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "." + r.Group
}

// Rights are all that the commands need between them, each once, with the
// least Role that grants it. They are the Roles in deploy/rbac.
func Rights() []Right {
	type rule struct {
		group            string
		resources, verbs []string
	}
	roles := []struct {
		name  string
		rules []rule
	}{
		{"dbop-view", []rule{
			{"", []string{"configmaps", "pods", "persistentvolumeclaims", "services", "events"}, []string{"get", "list",
				"watch"}},
			{"apps", []string{"statefulsets"}, []string{"get", "list"}},
			{"policy", []string{"poddisruptionbudgets"}, []string{"get", "list"}},
			{"coordination.k8s.io", []string{"leases"}, []string{"get"}},
			{"batch", []string{"cronjobs"}, []string{"get"}},
		}},
		{"dbop-members", []rule{
			{"", []string{"secrets"}, []string{"get", "list"}},
			{"", []string{"pods/portforward"}, []string{"get", "create"}},
		}},
		{"dbop-backup", []rule{
			{"", []string{"configmaps"}, []string{"create", "update"}},
			{"coordination.k8s.io", []string{"leases"}, []string{"create", "update"}},
			{"", []string{"pods"}, []string{"create", "delete"}},
		}},
		{"dbop-operate", []rule{
			{"", []string{"configmaps"}, []string{"delete"}},
			{"", []string{"pods"}, []string{"patch"}},
			{"", []string{"services", "persistentvolumeclaims", "secrets"}, []string{"create", "patch", "delete"}},
			{"", []string{"secrets"}, []string{"update"}},
			{"apps", []string{"statefulsets"}, []string{"create", "patch", "update", "delete"}},
			{"policy", []string{"poddisruptionbudgets"}, []string{"create", "patch", "delete"}},
			{"batch", []string{"cronjobs"}, []string{"patch", "delete"}},
		}},
	}
	var out []Right
	for _, role := range roles {
		for _, r := range role.rules {
			for _, resource := range r.resources {
				for _, verb := range r.verbs {
					out = append(out, Right{Verb: verb, Group: r.group, Resource: resource, Role: role.name})
				}
			}
		}
	}
	return out
}
