package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Site is everything that Check judges: where a cluster would be, and from
// where it would be operated.
type Site struct {
	// Server is the API server's version; Unreachable why it did not answer,
	// and Hint what to do about that.
	Server      string `json:"server,omitempty"`
	Unreachable string `json:"unreachable,omitempty"`
	Hint        string `json:"hint,omitempty"`
	// Skew says what is wrong with the pair of client and server, "" for nothing.
	Skew string `json:"skew,omitempty"`
	// Plugins are the programs on the PATH that kubectl takes for this one, in
	// the order in which it finds them.
	Plugins []string `json:"plugins,omitempty"`
	// User as the API server names them, "" if it does not.
	User string `json:"user,omitempty"`
	// Kube is nil if the API server did not answer.
	Kube *preflight.Report `json:"kube,omitempty"`
	// HelperImage is the image of this tool's own pods.
	HelperImage string         `json:"helperImage"`
	Member      MemberSite     `json:"member"`
	Repository  RepositorySite `json:"repository"`
}

// RepositorySite is where backups would go.
type RepositorySite struct {
	URL string `json:"url"`
	// Local is true for a directory of this machine, which was probed: Problem
	// says why it can't be written, Free how many bytes are left, -1 for unknown.
	Local   bool   `json:"local"`
	Problem string `json:"problem,omitempty"`
	Free    int64  `json:"free"`
}

// littleSpace is from where on a local repository is called nearly full.
const littleSpace = 1 << 30

// Check judges, before anything is created, whether it could be. It is pure.
// What fails would fail the first command; what is only warned of may do.
func Check(s Site) []ops.Finding {
	c := &siteCheck{s: s}
	c.plugins()
	c.server()
	if s.Kube != nil {
		c.namespace()
		c.rights()
		c.classes()
		c.quotas()
		c.limits()
	}
	c.add(ops.Finding{Severity: ops.OK, Subject: "helper image", What: s.HelperImage,
		Evidence: []string{"not pulled yet; nodes need it only for backups in a claim, verifications and restores"}})
	c.repository()
	return c.all
}

// siteCheck gathers the findings of one Check.
type siteCheck struct {
	s   Site
	all []ops.Finding
}

func (c *siteCheck) add(f ops.Finding) { c.all = append(c.all, f) }

// plugins warns of a program that another one hides: kubectl runs the first.
func (c *siteCheck) plugins() {
	if len(c.s.Plugins) < 2 {
		return
	}
	c.add(ops.Finding{Severity: ops.Warn, Subject: "plugin",
		What:     fmt.Sprintf("kubectl finds %d programs of this name and runs %s", len(c.s.Plugins), c.s.Plugins[0]),
		Evidence: []string{"hidden: " + strings.Join(c.s.Plugins[1:], ", ")},
		Remedy: []string{"remove the others, or put the one that you want first on the PATH; kubectl plugin list shows " +
			"them"}})
}

func (c *siteCheck) server() {
	f := ops.Finding{Severity: ops.OK, Subject: "API server", What: "answers, version " + c.s.Server}
	switch {
	case c.s.Unreachable != "":
		f.Severity, f.What = ops.Fail, c.s.Unreachable
		if c.s.Hint != "" {
			f.Remedy = []string{c.s.Hint}
		}
	case c.s.Skew != "":
		f.Severity, f.What, f.Evidence = ops.Warn, c.s.Skew, []string{"server version " + c.s.Server}
		f.Remedy = []string{"take a release of this tool that is built for the server's version"}
	}
	c.add(f)
}

// namespace reads the namespace and its Pod Security level. The pods that
// this tool makes satisfy the strictest one.
func (c *siteCheck) namespace() {
	n := c.s.Kube.Namespace
	f := ops.Finding{Severity: ops.OK, Subject: "namespace", What: n.Name + " exists"}
	switch {
	case n.Unknown != "":
		f.Severity, f.What, f.Evidence = ops.Warn, n.Name+" can't be read, so its Pod Security level is not known",
			[]string{n.Unknown}
	case !n.Exists:
		f.Severity, f.What, f.Remedy = ops.Fail, n.Name+" does not exist", []string{"kubectl create namespace " + n.Name}
	case n.Terminating:
		f.Severity, f.What, f.Remedy = ops.Fail, n.Name+" is being deleted", []string{"choose another one with --namespace"}
	}
	c.add(f)
	if !n.Exists {
		return
	}
	f = ops.Finding{Severity: ops.OK, Subject: "pod security", What: "level " + n.PodSecurity + " is satisfied"}
	switch n.PodSecurity {
	case "restricted", "baseline", "privileged":
	case "":
		f.What = "no level is enforced"
	default:
		f.Severity, f.What = ops.Warn, fmt.Sprintf("level %q is none of restricted, baseline and privileged", n.PodSecurity)
		f.Remedy = []string{"kubectl label namespace " + n.Name +
			" pod-security.kubernetes.io/enforce=restricted --overwrite"}
	}
	c.add(f)
}

// rights lists what is missing by the Role that grants it.
func (c *siteCheck) rights() {
	missing := c.s.Kube.Missing
	if len(missing) == 0 {
		c.add(ops.Finding{Severity: ops.OK, Subject: "rights",
			What: fmt.Sprintf("all %d that the commands need", len(preflight.Rights()))})
		return
	}
	var roles []string
	byRole := map[string][]string{}
	for _, r := range missing {
		if !slices.Contains(roles, r.Role) {
			roles = append(roles, r.Role)
		}
		byRole[r.Role] = append(byRole[r.Role], r.String())
	}
	for _, role := range roles {
		c.add(ops.Finding{Severity: ops.Fail, Subject: "rights",
			What:     fmt.Sprintf("%d of Role %s are missing", len(byRole[role]), role),
			Evidence: []string{"missing: " + strings.Join(byRole[role], ", ")},
			Remedy: []string{fmt.Sprintf(
				"ask an administrator: kubectl create rolebinding %s --role=%s %s --namespace=%s, with the Role of deploy/rbac",
				role, role, c.subject(), c.s.Kube.Namespace.Name),
				"or the stock ClusterRole edit, which holds them all"}})
	}
}

// subject is the user as kubectl create rolebinding takes them.
func (c *siteCheck) subject() string {
	switch account, ok := strings.CutPrefix(c.s.User, "system:serviceaccount:"); {
	case c.s.User == "":
		return "--user=USER"
	case ok:
		return "--serviceaccount=" + account
	}
	return "--user=" + c.s.User
}

// classes searches for a class for volumes that name none.
func (c *siteCheck) classes() {
	classes := c.s.Kube.Classes
	f := ops.Finding{Severity: ops.OK, Subject: "storage class", What: classes.Default +
		" is the default, and its volumes can grow"}
	switch {
	case classes.Unknown != "":
		f.Severity, f.What, f.Evidence = ops.Warn, "the classes can't be read: they belong to no namespace",
			[]string{classes.Unknown}
		f.Remedy = []string{"ask an administrator whether there is a default class, or name one with --storage-class"}
	case len(classes.Names) == 0:
		f.Severity, f.What, f.Remedy = ops.Fail, "there is none, so no volume can be had",
			[]string{"install a provisioner of volumes"}
	case classes.Default == "":
		f.Severity, f.What, f.Remedy = ops.Warn, "none is the default",
			[]string{"name one with --storage-class: " + strings.Join(classes.Names, ", ")}
	case !classes.Expandable:
		f.Severity, f.What = ops.Warn, classes.Default+" is the default, and its volumes can't grow"
		f.Remedy = []string{"choose --storage for years, or another class with --storage-class: " +
			strings.Join(classes.Names, ", ")}
	}
	c.add(f)
}

func (c *siteCheck) quotas() {
	f := ops.Finding{Severity: ops.OK, Subject: "resource quota", What: "no ResourceQuota"}
	switch quotas, unknown := c.s.Kube.Quotas, c.s.Kube.QuotasUnknown; {
	case unknown != "":
		f.Severity, f.What, f.Evidence = ops.Warn, "quotas can't be read", []string{unknown}
	case len(quotas) > 0:
		f.Severity, f.What, f.Evidence = ops.Warn, "the namespace is bounded: members beyond the quota do not start", quotas
		f.Remedy = []string{"compare with members, --storage, --cpu and --memory; a quota on cpu or memory makes those " +
			"flags necessary"}
	}
	c.add(f)
}

func (c *siteCheck) repository() {
	at := c.s.Repository
	f := ops.Finding{Severity: ops.OK, Subject: "repository", What: at.URL}
	var claim *preflight.Claim
	if c.s.Kube != nil {
		claim = c.s.Kube.Claim
	}
	switch {
	case at.Problem != "":
		f.Severity, f.What, f.Remedy = ops.Fail, at.Problem, []string{"mend that, or choose another with --repository"}
	case at.Local && at.Free >= 0 && at.Free < littleSpace:
		f.Severity, f.What, f.Remedy = ops.Warn, at.URL+" can be written and is nearly full",
			[]string{"make room there, or choose another with --repository"}
		f.Evidence = []string{fmt.Sprintf("%d MiB are free", at.Free>>20)}
	case at.Local:
		f.What += " can be written"
		if at.Free >= 0 {
			f.Evidence = []string{fmt.Sprintf("%d MiB are free", at.Free>>20)}
		}
	case claim == nil:
		f.Severity, f.What = ops.Warn, at.URL+" was not checked"
	case claim.Unknown != "":
		f.Severity, f.What, f.Evidence = ops.Warn, at.URL+" can't be read", []string{claim.Unknown}
	case !claim.Exists:
		f.Severity, f.What, f.Remedy = ops.Fail, "there is no persistentvolumeclaim "+claim.Name,
			[]string{"create it, or choose another with --repository"}
	default:
		f.What += " exists"
	}
	c.add(f)
}
