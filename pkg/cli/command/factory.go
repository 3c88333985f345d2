package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Either is the flag, else the environment.
func (f *Factory) Either(flag, variable string) string {
	if flag != "" {
		return flag
	}
	return f.Getenv(variable)
}

// Factory is what all commands share: what the command line takes from the
// outside, the flags that all commands have, and what is derived from both.
type Factory struct {
	Config
	progress.Interruption

	Flags *genericclioptions.ConfigFlags
	// Asked is the command that runs, as it is recorded.
	Asked string
	Color string
	// planning: only the plan was requested.
	planning bool
	// Verbosity is the log level of requests to the API server.
	Verbosity int
	// Verbatim is standard error for what others wrote, such as a log.
	Verbatim io.Writer
}

// NewFactory makes a factory for a real cluster.
func NewFactory(c Config) *Factory {
	f := &Factory{Config: c, Flags: genericclioptions.NewConfigFlags(true)}
	if f.Random == nil {
		f.Random = rand.Reader
	}
	f.Verbatim = &progress.LockedWriter{W: c.Streams.Err}
	f.Streams.Err = advice{f.Verbatim, f.complete}
	if f.Clients == nil {
		f.Clients = clients.New(
			clients.Config{Rest: sync.OnceValues(f.RestConfig), Mounted: f.mounted(), Tool: c.Build.Version,
				HelperImage: f.HelperImage("", nil), FailPoint: f.FailPoint()})
	}
	return f
}

// RestConfig reads the kubeconfig as kubectl does and signs requests with our name.
func (f *Factory) RestConfig() (*rest.Config, error) {
	config, err := f.Flags.ToRESTConfig()
	if err != nil {
		return nil, kube.ExplainConfig(err)
	}
	// Without any configuration the loader falls back to a port of this
	// machine, and the failure to connect would hide what is wrong.
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err == nil && len(raw.Clusters) == 0 && *f.Flags.APIServer == "" &&
		strings.HasSuffix(config.Host, "localhost:8080") {
		if len(raw.Contexts) > 0 {
			return nil, kube.ExplainConfig(errors.New("it names no cluster"))
		}
		return nil, kube.ExplainConfig(clientcmd.ErrEmptyConfig)
	}
	config.UserAgent = kube.UserAgent(f.Build.Version, f.Build.Commit)
	return config, nil
}

// Namespace is the one of --namespace, else of the kubeconfig.
func (f *Factory) Namespace() (string, error) {
	namespace, _, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", kube.ExplainConfig(err)
	}
	return namespace, nil
}

// Here is the namespace, and the store to read it from.
func (f *Factory) Here() (namespace string, store store.Store, err error) {
	if namespace, err = f.Namespace(); err == nil {
		store, err = f.Clients.Store(kube.DryRunClient)
	}
	return namespace, store, err
}

// contextName is shown before something is lost for good.
func (f *Factory) contextName() string {
	if *f.Flags.Context != "" {
		return *f.Flags.Context
	}
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || raw.CurrentContext == "" {
		return printer.Unknown
	}
	return raw.CurrentContext
}

// EngineNamed finds an engine, or names those there are.
func (f *Factory) EngineNamed(name string) (engine.Engine, error) {
	names := make([]string, 0, len(f.Engines))
	for _, e := range f.Engines {
		if e.Name() == name {
			return e, nil
		}
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return nil, &engine.Refusal{Check: "engine", Unknown: true, Reason: fmt.Sprintf("engine %q is not known", name),
		Hint: "choose one of: " + strings.Join(names, ", ")}
}

// ErrPalette paints what goes to stderr, outPalette what goes to stdout.
func (f *Factory) ErrPalette() printer.Palette {
	return printer.NewPalette(f.Color, f.Streams.ErrTTY, f.Getenv)
}

func (f *Factory) OutPalette() printer.Palette {
	return printer.NewPalette(f.Color, f.Streams.OutTTY, f.Getenv)
}

// newReporter shows progress as the flag of that name says.
func (f *Factory) newReporter(mode string) progress.Reporter {
	animate := f.Streams.ErrTTY && f.Getenv("TERM") != "dumb"
	return progress.New(mode, f.Streams, animate, f.ErrPalette(), f.Now)
}

// Note says something to the person, never to a program.
func (f *Factory) Note(format string, args ...any) {
	fmt.Fprintln(f.Streams.Err, ops.Printable(fmt.Sprintf(format, args...)))
}

// defaultDirectory is the repository of those who name none.
func (f *Factory) defaultDirectory() (string, error) {
	if data := f.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "kubectl-dbop", "backups"), nil
	}
	home := f.Getenv("HOME")
	if home == "" {
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("find a place for backups: %w", err)
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".local", "share", "kubectl-dbop", "backups"), nil
}

// Location resolves where backups are: the flag, what the cluster says, the
// environment, a directory of this user.
func (f *Factory) Location(flag string, c *v1alpha1.DatabaseCluster) (repository.Location, error) {
	url := flag
	if url == "" && c != nil {
		url = c.Spec.Backup.Repository
	}
	if url == "" {
		url = f.Getenv(EnvRepository)
	}
	if url == "" {
		dir, err := f.defaultDirectory()
		if err != nil {
			return repository.Location{}, err
		}
		url = string(repository.KindDirectory) + ":" + dir
	}
	at, err := repository.ParseLocation(url)
	if err != nil {
		return at, &exit.UsageError{Text: err.Error()}
	}
	base, err := os.Getwd()
	if err != nil {
		return at, fmt.Errorf("resolve repository %s: %w", url, err)
	}
	return at.Within(base), nil
}

// mounted are the repositories that are mounted into the pod that this runs in.
func (f *Factory) mounted() map[string]string {
	url, dir, ok := strings.Cut(f.Getenv(workload.EnvMounted), "=")
	if !ok {
		return nil
	}
	return map[string]string{url: dir}
}

// HelperImage is the image of this tool for a helper pod: the flag, what the
// cluster says, the environment, the one that belongs to this build.
func (f *Factory) HelperImage(flag string, c *v1alpha1.DatabaseCluster) string {
	registry := f.Getenv(EnvRegistry)
	if c != nil && c.Spec.Registry != "" {
		registry = c.Spec.Registry
	}
	switch {
	case flag != "":
		return flag
	case c != nil && c.Spec.HelperImage != "":
		return c.Spec.HelperImage
	case f.Getenv(EnvHelperImage) != "":
		return f.Getenv(EnvHelperImage)
	}
	return engine.Mirrored(HelperRepository+":"+f.Build.Version, registry)
}

// Age is the age of a moment by this machine's clock.
func (f *Factory) Age(then time.Time) string { return printer.Age(f.Now(), then) }

// NoResources tells a person that the list is empty; a program sees no line.
func (f *Factory) NoResources(namespace string) {
	if namespace == metav1.NamespaceAll {
		f.Note("No resources found.")
		return
	}
	f.Note("No resources found in %s namespace.", namespace)
}
