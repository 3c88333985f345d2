package cli

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

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Factory is what all commands share: what the command line takes from the
// outside, the flags that all commands have, and what is derived from both.
type Factory struct {
	Config
	interruption

	flags *genericclioptions.ConfigFlags
	// asked is the command that runs, as it is recorded.
	asked string
	color string
	// verbosity is the log level of requests to the API server.
	verbosity int
	// verbatim is standard error for what others wrote, such as a log.
	verbatim io.Writer
}

// newFactory makes a factory for a real cluster.
func newFactory(c Config) *Factory {
	f := &Factory{Config: c, flags: genericclioptions.NewConfigFlags(true)}
	if f.Random == nil {
		f.Random = rand.Reader
	}
	f.verbatim = &lockedWriter{w: c.Streams.Err}
	f.Streams.Err = advice{f.verbatim, f.complete}
	if f.Clients == nil {
		f.Clients = NewLive(LiveConfig{Rest: sync.OnceValues(f.restConfig), Mounted: f.mounted(), Tool: c.Build.Version,
			HelperImage: f.helperImage("", nil), FailPoint: f.failPoint()})
	}
	return f
}

// restConfig reads the kubeconfig as kubectl does and signs requests with our name.
func (f *Factory) restConfig() (*rest.Config, error) {
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, kube.ExplainConfig(err)
	}
	// Without any configuration the loader falls back to a port of this
	// machine, and the failure to connect would hide what is wrong.
	raw, err := f.flags.ToRawKubeConfigLoader().RawConfig()
	if err == nil && len(raw.Clusters) == 0 && *f.flags.APIServer == "" && strings.HasSuffix(config.Host, "localhost:8080") {
		if len(raw.Contexts) > 0 {
			return nil, kube.ExplainConfig(errors.New("it names no cluster"))
		}
		return nil, kube.ExplainConfig(clientcmd.ErrEmptyConfig)
	}
	config.UserAgent = kube.UserAgent(f.Build.Version, f.Build.Commit)
	return config, nil
}

// namespace is the one of --namespace, else of the kubeconfig.
func (f *Factory) namespace() (string, error) {
	namespace, _, err := f.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", kube.ExplainConfig(err)
	}
	return namespace, nil
}

// here is the namespace, and the store to read it from.
func (f *Factory) here() (namespace string, store kube.Store, err error) {
	if namespace, err = f.namespace(); err == nil {
		store, err = f.Clients.Store(kube.DryRunClient)
	}
	return namespace, store, err
}

// contextName is shown before something is lost for good.
func (f *Factory) contextName() string {
	if *f.flags.Context != "" {
		return *f.flags.Context
	}
	raw, err := f.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || raw.CurrentContext == "" {
		return unknown
	}
	return raw.CurrentContext
}

// engineNamed finds an engine, or names those there are.
func (f *Factory) engineNamed(name string) (engine.Engine, error) {
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

// errPalette paints what goes to stderr, outPalette what goes to stdout.
func (f *Factory) errPalette() palette { return newPalette(f.color, f.Streams.ErrTTY, f.Getenv) }
func (f *Factory) outPalette() palette { return newPalette(f.color, f.Streams.OutTTY, f.Getenv) }

// note says something to the person, never to a program.
func (f *Factory) note(format string, args ...any) {
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

// location resolves where backups are: the flag, what the cluster says, the
// environment, a directory of this user.
func (f *Factory) location(flag string, c *v1alpha1.DatabaseCluster) (repository.Location, error) {
	url := flag
	if url == "" && c != nil {
		url = c.Spec.Backup.Repository
	}
	if url == "" {
		url = f.Getenv(envRepository)
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
		return at, &usageError{text: err.Error()}
	}
	base, err := os.Getwd()
	if err != nil {
		return at, fmt.Errorf("resolve repository %s: %w", url, err)
	}
	return at.Within(base), nil
}

// mounted are the repositories that are mounted into the pod that this runs in.
func (f *Factory) mounted() map[string]string {
	url, dir, ok := strings.Cut(f.Getenv(kube.EnvMounted), "=")
	if !ok {
		return nil
	}
	return map[string]string{url: dir}
}

// helperImage is the image of this tool for a helper pod: the flag, what the
// cluster says, the environment, the one that belongs to this build.
func (f *Factory) helperImage(flag string, c *v1alpha1.DatabaseCluster) string {
	registry := f.Getenv(envRegistry)
	if c != nil && c.Spec.Registry != "" {
		registry = c.Spec.Registry
	}
	switch {
	case flag != "":
		return flag
	case c != nil && c.Spec.HelperImage != "":
		return c.Spec.HelperImage
	case f.Getenv(envHelperImage) != "":
		return f.Getenv(envHelperImage)
	}
	return engine.Mirrored(helperRepository+":"+f.Build.Version, registry)
}

// age is the age of a moment by this machine's clock.
func (f *Factory) age(then time.Time) string { return age(f.Now(), then) }
