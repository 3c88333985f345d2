package health

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// readySite is a namespace with all that a cluster needs.
func readySite() Site {
	return Site{Server: "v1.36.3", User: "ada", HelperImage: "example.org/helper:v1",
		Repository: RepositorySite{URL: "dir:/backups", Local: true, Free: 50 << 30},
		Kube: &preflight.Report{Namespace: preflight.Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"},
			Classes: preflight.Classes{Names: []string{"fast"}, Default: "fast", Expandable: true}}}
}

func TestAReadySiteHasNoFindings(t *testing.T) {
	for _, f := range Check(readySite()) {
		if f.Severity != ops.OK || len(f.Remedy) > 0 {
			t.Error(text(f))
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*Site)
		severity ops.Severity
		subject  string
		says     string
	}{
		{"no server", func(s *Site) { s.Kube, s.Unreachable, s.Hint = nil, "connection refused", "kubectl cluster-info" },
			ops.Fail, "API server", "connection refused | kubectl cluster-info"},
		{"plugins of one name", func(s *Site) { s.Plugins = []string{"/a/kubectl-dbop", "/b/kubectl-dbop"} }, ops.Warn,
			"plugin", "hidden: /b/kubectl-dbop | remove the others"},
		{"skew", func(s *Site) { s.Skew = "too old" }, ops.Warn, "API server", "too old"},
		{"no namespace", func(s *Site) { s.Kube.Namespace.Exists = false }, ops.Fail, "namespace",
			"kubectl create namespace shop"},
		{"namespace going", func(s *Site) { s.Kube.Namespace.Terminating = true }, ops.Fail, "namespace", "being deleted"},
		{"namespace hidden", func(s *Site) {
			s.Kube.Namespace = preflight.Namespace{Name: "shop", Unknown: "you may not get namespaces shop"}
		}, ops.Warn, "namespace", "you may not"},
		{"no level", func(s *Site) { s.Kube.Namespace.PodSecurity = "" }, ops.OK, "pod security", "no level"},
		{"odd level", func(s *Site) { s.Kube.Namespace.PodSecurity = "strict" }, ops.Warn, "pod security", `"strict"`},
		{"rights", func(s *Site) {
			s.Kube.Missing = []preflight.Right{{Verb: "create", Group: "apps", Resource: "statefulsets",
				Role: "dbop-operate"}}
		}, ops.Fail, "rights",
			"create statefulsets.apps | ask an administrator: kubectl create rolebinding dbop-operate --role=dbop-operate " +
				"--user=ada --namespace=shop"},
		{"rights of a service account", func(s *Site) {
			s.User, s.Kube.Missing = "system:serviceaccount:ci:robot",
				[]preflight.Right{{Verb: "get", Resource: "pods", Role: "dbop-view"}}
		}, ops.Fail, "rights", "--serviceaccount=ci:robot"},
		{"no class", func(s *Site) { s.Kube.Classes = preflight.Classes{} }, ops.Fail, "storage class", "there is none"},
		{"no default", func(s *Site) { s.Kube.Classes.Default = "" }, ops.Warn, "storage class", "--storage-class: fast"},
		{"rigid class", func(s *Site) { s.Kube.Classes.Expandable = false }, ops.Warn, "storage class", "can't grow"},
		{"classes hidden", func(s *Site) { s.Kube.Classes = preflight.Classes{Unknown: "you may not list storageclasses"} },
			ops.Warn, "storage class", "you may not"},
		{"quota", func(s *Site) { s.Kube.Quotas = []string{"small: pods 1 of 2"} }, ops.Warn, "resource quota",
			"small: pods 1 of 2"},
		{"quota hidden", func(s *Site) { s.Kube.QuotasUnknown = "you may not" }, ops.Warn, "resource quota",
			"can't be read"},
		{"repository", func(s *Site) { s.Repository.Problem = "write to dir:/backups: read-only" }, ops.Fail, "repository",
			"read-only"},
		{"full repository", func(s *Site) { s.Repository.Free = 1 << 20 }, ops.Warn, "repository", "1 MiB are free"},
		{"claim", func(s *Site) {
			s.Repository = RepositorySite{URL: "pvc:b"}
			s.Kube.Claim = &preflight.Claim{Name: "b", Exists: true}
		}, ops.OK, "repository", "pvc:b exists"},
		{"no claim",
			func(s *Site) { s.Repository = RepositorySite{URL: "pvc:b"}; s.Kube.Claim = &preflight.Claim{Name: "b"} }, ops.Fail,
			"repository", "no persistentvolumeclaim b"},
		{"claim hidden", func(s *Site) {
			s.Repository = RepositorySite{URL: "pvc:b"}
			s.Kube.Claim = &preflight.Claim{Name: "b", Unknown: "you may not"}
		}, ops.Warn, "repository", "you may not"},
		{"claim without a server", func(s *Site) { s.Kube, s.Repository = nil, RepositorySite{URL: "pvc:b"} }, ops.Warn,
			"repository", "was not checked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := readySite()
			test.change(&s)
			all := Check(s)
			i := slices.IndexFunc(all, func(f ops.Finding) bool { return f.Subject == test.subject })
			if i < 0 || all[i].Severity != test.severity || !strings.Contains(text(all[i]), test.says) {
				t.Errorf("want %s of %q with %q in %+v", test.severity, test.subject, test.says, all)
			}
		})
	}
}
