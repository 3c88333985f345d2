package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// checkSheet is what check says, for machines.
type checkSheet struct {
	Site     health.Site   `json:"site"`
	Findings []ops.Finding `json:"findings"`
	// Cluster is the diagnosis of the named cluster.
	Cluster *health.Diagnosis `json:"cluster,omitempty"`
}

func newCheck(f *Factory) *cobra.Command {
	out := newOutput(formatWide)
	var repo string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check whether a namespace is ready for a cluster",
		Long: `Check whether a namespace is ready for a cluster: the API server, rights, storage, Pod Security, quotas,
limit ranges and the place of backups. With NAME that cluster is diagnosed, too. Nothing is changed.

Exit codes: 0 nothing failed, 10 something failed.`,
		Example: `  # Check the present namespace before the first cluster
  kubectl dbop check

  # Check another namespace and a claim for backups
  kubectl dbop check --namespace shop --repository pvc:backups`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runCheck(cmd.Context(), f, out, args, repo, timeout)
		},
	}
	out.addTo(cmd)
	addRepositoryFlag(cmd, &repo, "the next backup")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long the look may take, such as 10s.")
	return cmd
}

func runCheck(ctx context.Context, f *Factory, out *output, args []string, repo string, timeout time.Duration) error {
	looking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sheet := checkSheet{}
	var cluster *v1alpha1.DatabaseCluster
	var err error
	server, unreachable := f.Clients.ServerVersion()
	if unreachable == nil && len(args) > 0 {
		t, err := f.target(looking, args)
		if err != nil {
			return err
		}
		d, err := f.diagnose(ctx, t, timeout)
		if err != nil {
			return err
		}
		cluster, sheet.Cluster = t.cluster, &d
	}
	if sheet.Site, err = f.site(looking, repo, cluster, unreachable == nil); err != nil {
		return err
	}
	if unreachable != nil {
		sheet.Site.Unreachable, sheet.Site.Hint = unreachable.Error(), hintOf(unreachable)
	} else {
		sheet.Site.Server, sheet.Site.Skew = server.GitVersion, skew(*server)
	}
	sheet.Findings = health.Check(sheet.Site)
	if err := sheet.show(f, out); err != nil {
		return err
	}
	if sheet.failed() {
		return &outcome{ExitDegraded}
	}
	return nil
}

// site looks at the namespace, if the API server answers, and at the repository.
func (f *Factory) site(ctx context.Context, repo string, cluster *v1alpha1.DatabaseCluster,
	reachable bool) (health.Site, error) {
	at, err := f.location(repo, cluster)
	if err != nil {
		return health.Site{}, err
	}
	s := health.Site{Plugins: plugins(f.Getenv("PATH")), HelperImage: f.helperImage("", cluster), Repository: health.RepositorySite{URL: at.String()}}
	if at.Kind == repository.KindDirectory {
		s.Repository.Local = true
		d, err := repository.NewDirectory(at.Path)
		if err != nil {
			return health.Site{}, err
		}
		if s.Repository.Free, err = d.Probe(ctx); err != nil {
			s.Repository.Problem = err.Error()
		}
	}
	if !reachable {
		return s, nil
	}
	namespace, err := f.namespace()
	if err != nil {
		return health.Site{}, err
	}
	found, err := f.Clients.Preflight(ctx, namespace, at.Claim)
	if err != nil {
		return health.Site{}, err
	}
	s.Kube, s.User, s.Member = &found, f.Clients.Whoami(ctx), health.MemberSite{Storage: resource.MustParse(defaultStorage)}
	if cluster != nil {
		s.Member = health.MemberSite{Cluster: cluster.Name, Resources: cluster.Spec.Resources, Storage: cluster.Spec.Storage.Size}
	}
	return s, nil
}

func (s checkSheet) failed() bool {
	return ops.Count(s.Findings, ops.Fail) > 0 || s.Cluster != nil && ops.Count(s.Cluster.Findings, ops.Fail) > 0
}

func (s checkSheet) show(f *Factory, out *output) error {
	if !out.human() {
		return out.print(f.results(), "Check", s)
	}
	all := s.Findings
	if s.Cluster != nil {
		all = slices.Concat(all, s.Cluster.Findings)
	}
	paint := f.outPalette()
	printFindings(f.results(), paint, all, out.wide())
	_, err := fmt.Fprintf(f.Streams.Out, "\n%s\n", tally(all))
	return err
}
