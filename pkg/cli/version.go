package cli

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/version"
)

// builtFor is the minor of Kubernetes whose client libraries are built in.
const builtFor = 37

// versionSheet is what version says, for machines.
type versionSheet struct {
	Client clientVersion `json:"client"`
	Server *version.Info `json:"server,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(f *Factory) *cobra.Command {
	out := newOutput()
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this tool and of the server",
		Long:  "Print the versions of this tool and of the server. With --client it needs no cluster.",
		Example: `  # Print the version of this tool only
  kubectl dbop version --client`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runVersion(f, out, clientOnly)
		},
	}
	out.addTo(cmd)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Print the version of this tool only.")
	return cmd
}

func runVersion(f *Factory, out *output, clientOnly bool) error {
	sheet := newVersionSheet(f)
	var failed error
	if !clientOnly {
		sheet.Server, failed = f.serverVersion()
	}
	if !out.human() {
		if err := out.print(f.Streams.Out, "Version", sheet); err != nil {
			return err
		}
		return failed
	}
	fmt.Fprintf(f.Streams.Out, "Client Version: %s\n", sheet.Client.Version)
	if sheet.Server != nil {
		fmt.Fprintf(f.Streams.Out, "Server Version: %s\n", sheet.Server.GitVersion)
		if warning := skew(*sheet.Server); warning != "" {
			f.note("%s %s", f.errPalette().yellow("warning:"), warning)
		}
	}
	return failed
}

// newVersionSheet knows the client only.
func newVersionSheet(f *Factory) versionSheet {
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
	if d := builtFor - minor; d > 1 || d < -1 {
		return fmt.Sprintf("this tool is built for Kubernetes 1.%d, the server is 1.%d: more than one minor apart", builtFor, minor)
	}
	return ""
}
