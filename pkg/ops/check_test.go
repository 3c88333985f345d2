package ops

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// readySite is a namespace with all that a cluster needs.
func readySite() Site {
	return Site{Server: "v1.36.3", User: "ada", HelperImage: "example.org/helper:v1", Repository: RepositorySite{URL: "dir:/backups", Local: true, Free: 50 << 30},
		Kube: &kube.Preflight{Namespace: kube.Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"}, Classes: kube.Classes{Names: []string{"fast"}, Default: "fast", Expandable: true}}}
}

func TestAReadySiteHasNoFindings(t *testing.T) {
	for _, f := range Check(readySite()) {
		if f.Severity != OK || len(f.Remedy) > 0 {
			t.Error(f.text())
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*Site)
		severity Severity
		subject  string
		says     string
	}{
		{"no server", func(s *Site) { s.Kube, s.Unreachable, s.Hint = nil, "connection refused", "kubectl cluster-info" }, Fail, "API server", "connection refused | kubectl cluster-info"},
		{"plugins of one name", func(s *Site) { s.Plugins = []string{"/a/kubectl-dbop", "/b/kubectl-dbop"} }, Warn, "plugin", "hidden: /b/kubectl-dbop | remove the others"},
		{"skew", func(s *Site) { s.Skew = "too old" }, Warn, "API server", "too old"},
		{"no namespace", func(s *Site) { s.Kube.Namespace.Exists = false }, Fail, "namespace", "kubectl create namespace shop"},
		{"namespace going", func(s *Site) { s.Kube.Namespace.Terminating = true }, Fail, "namespace", "being deleted"},
		{"namespace hidden", func(s *Site) {
			s.Kube.Namespace = kube.Namespace{Name: "shop", Unknown: "you may not get namespaces shop"}
		}, Warn, "namespace", "you may not"},
		{"no level", func(s *Site) { s.Kube.Namespace.PodSecurity = "" }, OK, "pod security", "no level"},
		{"odd level", func(s *Site) { s.Kube.Namespace.PodSecurity = "strict" }, Warn, "pod security", `"strict"`},
		{"rights", func(s *Site) {
			s.Kube.Missing = []kube.Right{{Verb: "create", Group: "apps", Resource: "statefulsets", Role: "dbop-operate"}}
		}, Fail, "rights", "create statefulsets.apps | ask an administrator: kubectl create rolebinding dbop-operate --role=dbop-operate --user=ada --namespace=shop"},
		{"rights of a service account", func(s *Site) {
			s.User, s.Kube.Missing = "system:serviceaccount:ci:robot", []kube.Right{{Verb: "get", Resource: "pods", Role: "dbop-view"}}
		}, Fail, "rights", "--serviceaccount=ci:robot"},
		{"no class", func(s *Site) { s.Kube.Classes = kube.Classes{} }, Fail, "storage class", "there is none"},
		{"no default", func(s *Site) { s.Kube.Classes.Default = "" }, Warn, "storage class", "--storage-class: fast"},
		{"rigid class", func(s *Site) { s.Kube.Classes.Expandable = false }, Warn, "storage class", "can't grow"},
		{"classes hidden", func(s *Site) { s.Kube.Classes = kube.Classes{Unknown: "you may not list storageclasses"} }, Warn, "storage class", "you may not"},
		{"quota", func(s *Site) { s.Kube.Quotas = []string{"small: pods 1 of 2"} }, Warn, "resource quota", "small: pods 1 of 2"},
		{"quota hidden", func(s *Site) { s.Kube.QuotasUnknown = "you may not" }, Warn, "resource quota", "can't be read"},
		{"repository", func(s *Site) { s.Repository.Problem = "write to dir:/backups: read-only" }, Fail, "repository", "read-only"},
		{"full repository", func(s *Site) { s.Repository.Free = 1 << 20 }, Warn, "repository", "1 MiB are free"},
		{"claim", func(s *Site) {
			s.Repository = RepositorySite{URL: "pvc:b"}
			s.Kube.Claim = &kube.Claim{Name: "b", Exists: true}
		}, OK, "repository", "pvc:b exists"},
		{"no claim", func(s *Site) { s.Repository = RepositorySite{URL: "pvc:b"}; s.Kube.Claim = &kube.Claim{Name: "b"} }, Fail, "repository", "no persistentvolumeclaim b"},
		{"claim hidden", func(s *Site) {
			s.Repository = RepositorySite{URL: "pvc:b"}
			s.Kube.Claim = &kube.Claim{Name: "b", Unknown: "you may not"}
		}, Warn, "repository", "you may not"},
		{"claim without a server", func(s *Site) { s.Kube, s.Repository = nil, RepositorySite{URL: "pvc:b"} }, Warn, "repository", "was not looked at"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := readySite()
			test.change(&s)
			all := Check(s)
			i := slices.IndexFunc(all, func(f Finding) bool { return f.Subject == test.subject })
			if i < 0 || all[i].Severity != test.severity || !strings.Contains(all[i].text(), test.says) {
				t.Errorf("want %s of %q with %q in %+v", test.severity, test.subject, test.says, all)
			}
		})
	}
}
