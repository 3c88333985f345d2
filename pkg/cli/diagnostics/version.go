package diagnostics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	semver "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
)

// BuiltFor is the minor of Kubernetes whose client libraries are built in.
const BuiltFor = 37

// versionSheet is what version says, for machines.
type versionSheet struct {
	Client   clientVersion    `json:"client"`
	Operator *operatorVersion `json:"operator,omitempty"`
	Server   *version.Info    `json:"server,omitempty"`
}

// operatorVersion is what a Deployment says; nil if there is none to be seen.
type operatorVersion struct {
	Namespace string `json:"namespace"`
	Image     string `json:"image"`
	// Version is the tag of the image, "" for one that is named by its digest alone.
	Version string `json:"version,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// NewVersion makes the command version.
func NewVersion(f *command.Factory) *cobra.Command {
	out := printer.NewOutput()
	var clientOnly bool
	var namespace string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this tool, of an operator and of the server",
		Long: `Print the versions of this tool, of an operator and of the server, and warn where they are too far apart.
With --client it needs no cluster. An operator that you may not see is left out.`,
		Example: `  # Print the version of this tool only
  kubectl dbop version --client`,
		Args:              command.Arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sheet := newVersionSheet(f)
			if clientOnly {
				return printVersion(f, out, sheet)
			}
			server, err := f.Clients.ServerVersion()
			if err == nil {
				sheet.Server, sheet.Operator = server, findOperator(cmd.Context(), f, namespace)
			}
			return errors.Join(printVersion(f, out, sheet), err)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Print the version of this tool only.")
	cmd.Flags().StringVar(&namespace, "operator-namespace", deploy.Namespace, "Namespace of the operator.")
	return cmd
}

func printVersion(f *command.Factory, out *printer.Output, sheet versionSheet) error {
	if !out.Human() {
		return out.Print(f.Results(), "Version", sheet)
	}
	fmt.Fprintf(f.Streams.Out, "Client Version: %s\n", sheet.Client.Version)
	warn := func(warning string) {
		if warning != "" {
			f.Note("%s %s", f.ErrPalette().Yellow("warning:"), warning)
		}
	}
	if o := sheet.Operator; o != nil {
		fmt.Fprintf(f.Streams.Out, "Operator Version: %s\n", cmp.Or(o.Version, o.Image))
		warn(operatorSkew(sheet.Client.Version, o.Version))
	}
	if sheet.Server != nil {
		fmt.Fprintf(f.Streams.Out, "Server Version: %s\n", sheet.Server.GitVersion)
		warn(skew(*sheet.Server))
	}
	return nil
}

// findOperator searches for an operator. Most people may not read in its
// namespace, and for them there is none.
func findOperator(ctx context.Context, f *command.Factory, namespace string) *operatorVersion {
	_, _, image, err := f.Clients.Rollout(ctx, namespace, deploy.Name)
	if err != nil || image == "" {
		return nil
	}
	o := &operatorVersion{Namespace: namespace, Image: image}
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		o.Version = name[at+1:]
	}
	return o
}

// operatorSkew warns where records and requests of one may be unknown to the
// other: at another minor. What is no version, such as a build, is not judged.
func operatorSkew(client, operator string) string {
	ours, errOurs := semver.ParseGeneric(client)
	theirs, errTheirs := semver.ParseGeneric(operator)
	if errOurs != nil || errTheirs != nil || ours.Major() == theirs.Major() && ours.Minor() == theirs.Minor() {
		return ""
	}
	if ours.LessThan(theirs) {
		return fmt.Sprintf("the operator is %s and this tool %s: install the tool of the operator's minor",
			operator, client)
	}
	return fmt.Sprintf(
		"the operator is %s and this tool %s: %s operator upgrade brings the operator to this version; no database "+
			"restarts",
		operator, client, command.DisplayName)
}

// newVersionSheet knows the client only.
func newVersionSheet(f *command.Factory) versionSheet {
	return versionSheet{Client: clientVersion{Version: f.Build.Version, Commit: f.Build.Commit, Date: f.Build.Date,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}}
}

// skew warns where Kubernetes does not promise that client and server
// understand each other.
func skew(server version.Info) string {
	minor, err := strconv.Atoi(strings.TrimRight(server.Minor, "+"))
	if err != nil || server.Major != "1" {
		return ""
	}
	if d := BuiltFor - minor; d > 1 || d < -1 {
		return fmt.Sprintf("this tool is built for Kubernetes 1.%d, the server is 1.%d: more than one "+
			"minor apart", BuiltFor,
			minor)
	}
	return ""
}
