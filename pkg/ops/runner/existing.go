package runner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// meetExisting judges a create or restore onto a name that is taken: the same half-made or made cluster is continued,
// anything else is refused.
func meetExisting(found *v1alpha1.DatabaseCluster, r planner.Request) error {
	w, creates := r.Cluster.Spec, r.Operation.Verb == v1alpha1.VerbCreate
	if creates && w.Auth.Enabled && !found.Spec.Auth.Enabled {
		return &ops.Error{Kind: ops.Refused, Check: "exists",
			Message: fmt.Sprintf("cluster %s exists already, and its clients need not log in", found.Name),
			Hint:    "kubectl dbop user auth enable " + found.Name + " demands it; or choose another name"}
	}
	forms := ops.Unformed(found)
	if found.Spec.Engine != w.Engine || found.Spec.Version != w.Version || found.Spec.Members != w.Members ||
		!equality.Semantic.DeepEqual(found.Spec.RestoreFrom, w.RestoreFrom) ||
		!equality.Semantic.DeepEqual(found.Spec.Source, w.Source) ||
		!equality.Semantic.DeepEqual(found.Spec.InitialSQL, w.InitialSQL) {
		return exists(found, fmt.Sprintf(": %s %s with %d members", found.Spec.Engine, found.Spec.Version,
			found.Spec.Members), forms, "choose another name, or change that one with scale or upgrade")
	}
	if !creates && !forms {
		return nil // what came with the backup may have been changed since
	}
	if unlike := unlike(found.Spec, w, forms); len(unlike) > 0 {
		return exists(found, ", and is not as requested now: "+strings.Join(unlike, "; "), forms,
			"kubectl dbop configure "+found.Name+" changes options and routing, kubectl dbop resize "+found.Name+
				" memory and volumes; or choose another name")
	}
	return nil
}

// exists refuses a name that is taken. The hint is for a cluster that formed; one that did not is given up at no cost.
func exists(found *v1alpha1.DatabaseCluster, how string, forms bool, hint string) error {
	switch {
	case found.Managed():
		hint = "its custom resource says what it is to be: kubectl edit databasecluster " + found.Name
	case forms:
		hint = "go on with what was requested first: kubectl dbop resume " + found.Name +
			"; or choose another name; or delete this one first: it holds no data yet"
	}
	return &ops.Error{Kind: ops.Refused, Check: "exists", Hint: hint,
		Message: "cluster " + found.Name + " exists already" + how}
}

// unlike says in what a cluster is not as requested now. What is not asked for may be as it is: somebody may have
// changed it. A volume may be larger, unless the cluster has yet to form.
func unlike(have, want v1alpha1.DatabaseClusterSpec, forms bool) []string {
	var out []string
	differs := func(what, have, want string) {
		if want != "" && have != want {
			out = append(out, fmt.Sprintf("%s is %s there, and %s is asked for", what, cmp.Or(have, "not set"), want))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Config)) {
		if value, set := have.Config[name]; !set || value != want.Config[name] {
			differs("option "+name, value, cmp.Or(want.Config[name], `""`))
		}
	}
	if c := want.Storage.Size.Cmp(have.Storage.Size); c > 0 || forms && c != 0 {
		differs("the size of a volume", have.Storage.Size.String(), want.Storage.Size.String())
	}
	if class := want.Storage.ClassName; class != nil {
		var before string
		if have.Storage.ClassName != nil {
			before = *have.Storage.ClassName
		}
		differs("the storage class", before, *class)
	}
	for kind, pair := range map[string][2]corev1.ResourceList{
		"request": {have.Resources.Requests, want.Resources.Requests},
		"limit":   {have.Resources.Limits, want.Resources.Limits},
	} {
		for name, amount := range pair[1] {
			if before, set := pair[0][name]; !set || before.Cmp(amount) != 0 {
				differs(fmt.Sprintf("the %s of %s", kind, name), amountOf(before, set), amount.String())
			}
		}
	}
	differs("the image", have.Image, want.Image)
	differs("the routing", string(cmp.Or(have.Routing, v1alpha1.RoutingProxied)), string(want.Routing))
	differs("the spread over nodes", cmp.Or(have.AntiAffinity, "Preferred"), want.AntiAffinity)
	differs("TLS", onOff(!have.TLS.Disabled), onOff(!want.TLS.Disabled))
	differs("the secret of the authority", have.TLS.CASecret, want.TLS.CASecret)
	if i := want.TLS.Issuer; i != nil && !equality.Semantic.DeepEqual(have.TLS.Issuer, i) {
		before := ""
		if b := have.TLS.Issuer; b != nil {
			before = b.Kind + "/" + b.Name
		}
		differs("the issuer", before, i.Kind+"/"+i.Name)
	}
	differs("the repository of its backups", have.Backup.Repository, want.Backup.Repository)
	slices.Sort(out)
	return out
}

func amountOf(q resource.Quantity, set bool) string {
	if !set {
		return ""
	}
	return q.String()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
