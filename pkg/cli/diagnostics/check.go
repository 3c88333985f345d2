package diagnostics

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
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

// NewCheck makes the command check.
func NewCheck(f *command.Factory) *cobra.Command {
	out := printer.NewOutput(printer.FormatWide)
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
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd.Context(), f, out, args, repo, timeout)
		},
	}
	out.AddTo(cmd)
	command.AddRepositoryFlag(cmd, &repo, "the next backup")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of the check, such as 10s.")
	return cmd
}

func runCheck(ctx context.Context, f *command.Factory, out *printer.Output, args []string, repo string,
	timeout time.Duration) error {
	looking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sheet := checkSheet{}
	var cluster *v1alpha1.DatabaseCluster
	var err error
	server, unreachable := f.Clients.ServerVersion()
	if unreachable == nil && len(args) > 0 {
		t, err := f.Target(looking, args)
		if err != nil {
			return err
		}
		d, err := diagnose(ctx, f, t, timeout)
		if err != nil {
			return err
		}
		cluster, sheet.Cluster = t.Cluster, &d
	}
	if sheet.Site, err = site(looking, f, repo, cluster, unreachable == nil); err != nil {
		return err
	}
	if unreachable != nil {
		sheet.Site.Unreachable, sheet.Site.Hint = unreachable.Error(), command.HintOf(unreachable)
	} else {
		sheet.Site.Server, sheet.Site.Skew = server.GitVersion, skew(*server)
	}
	sheet.Findings = health.Check(sheet.Site)
	if err := sheet.show(f, out); err != nil {
		return err
	}
	if sheet.failed() {
		return exit.Outcome(exit.Degraded)
	}
	return nil
}

// site reads the namespace, if the API server answers, and at the repository.
func site(ctx context.Context, f *command.Factory, repo string, cluster *v1alpha1.DatabaseCluster,
	reachable bool) (health.Site, error) {
	at, err := f.Location(repo, cluster)
	if err != nil {
		return health.Site{}, err
	}
	s := health.Site{Plugins: plugins(f.Getenv("PATH")), HelperImage: f.HelperImage("", cluster),
		Repository: health.RepositorySite{URL: at.String()}}
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
	namespace, err := f.Namespace()
	if err != nil {
		return health.Site{}, err
	}
	found, err := f.Clients.Preflight(ctx, namespace, at.Claim)
	if err != nil {
		return health.Site{}, err
	}
	s.Kube, s.User, s.Member = &found, f.Clients.Whoami(ctx),
		health.MemberSite{Storage: resource.MustParse(command.DefaultStorage)}
	if cluster != nil {
		s.Member = health.MemberSite{Cluster: cluster.Name, Resources: cluster.Spec.Resources,
			Storage: cluster.Spec.Storage.Size}
	}
	return s, nil
}

func (s checkSheet) failed() bool {
	return ops.Count(s.Findings, ops.Fail) > 0 || s.Cluster != nil && ops.Count(s.Cluster.Findings, ops.Fail) > 0
}

func (s checkSheet) show(f *command.Factory, out *printer.Output) error {
	if !out.Human() {
		return out.Print(f.Results(), "Check", s)
	}
	all := s.Findings
	if s.Cluster != nil {
		all = slices.Concat(all, s.Cluster.Findings)
	}
	paint := f.OutPalette()
	printer.PrintFindings(f.Results(), paint, all, out.Wide())
	_, err := fmt.Fprintf(f.Streams.Out, "\n%s\n", printer.Tally(all))
	return err
}
