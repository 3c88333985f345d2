package harness

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// localKubeconfig is where the cluster of hack/cluster writes its kubeconfig.
const localKubeconfig = "/var/lib/dbop-cluster/kubeconfig"

// Site is where tests run: one Kubernetes cluster, the binary under test, and
// the upstream tools that must agree with it.
type Site struct {
	// Root is the top of the source tree.
	Root string
	// Bin is the built plugin.
	Bin        string
	Kubeconfig string
	Rest       *rest.Config
	Client     kubernetes.Interface
	// Local is true on the cluster of hack/cluster: pods can be reached from here.
	Local bool
	// Env is what every command under test gets.
	Env map[string]string
	// NewerImage is another name of the image of this tool; "" if the nodes have none.
	NewerImage string
	// Tools is the directory of the upstream programs.
	Tools string
}

// NewSite finds the cluster and the binary from the environment: DBOP_BIN,
// DBOP_E2E_KUBECONFIG, DBOP_REGISTRY, DBOP_HELPER_IMAGE, DBOP_NEWER_IMAGE.
func NewSite() (*Site, error) {
	root, err := sourceRoot()
	if err != nil {
		return nil, err
	}
	s := &Site{Root: root, Bin: os.Getenv("DBOP_BIN"), Kubeconfig: os.Getenv("DBOP_E2E_KUBECONFIG"), Tools: toolsDir()}
	s.NewerImage = os.Getenv("DBOP_NEWER_IMAGE")
	if s.Bin == "" {
		s.Bin = filepath.Join(root, "bin", "kubectl-dbop")
	}
	s.Env = map[string]string{"DBOP_REGISTRY": os.Getenv("DBOP_REGISTRY"),
		"DBOP_HELPER_IMAGE": os.Getenv("DBOP_HELPER_IMAGE"), "DBOP_STORE_IMAGE": os.Getenv("DBOP_STORE_IMAGE")}
	if s.Kubeconfig == "" || s.Kubeconfig == localKubeconfig {
		s.Kubeconfig, s.Local = localKubeconfig, true
		s.defaults(map[string]string{"DBOP_REGISTRY": "dbop.test",
			"DBOP_HELPER_IMAGE": "dbop.test/dbop-dev/kubectl-dbop:dev",
			"DBOP_STORE_IMAGE":  "dbop.test/dbop-dev/versitygw:dev"})
		s.NewerImage = cmp.Or(s.NewerImage, s.Env["DBOP_HELPER_IMAGE"]+"-newer")
		if _, err := os.Stat(StoreProgram("versitygw")); err != nil {
			s.Env["DBOP_STORE_IMAGE"] = "" // make stores was not run, so no node has it
		}
	}
	if _, err := os.Stat(s.Bin); err != nil {
		return nil, fmt.Errorf("the binary under test is missing, run make build: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig, run make cluster-up: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	s.Rest = config
	s.Client, err = kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return s, nil
}

func (s *Site) defaults(values map[string]string) {
	for k, v := range values {
		if s.Env[k] == "" {
			s.Env[k] = v
		}
	}
}

// CLI is the plugin with this site's kubeconfig, and with home as home directory.
func (s *Site) CLI(home string, extra map[string]string) Command {
	env := maps.Clone(s.Env)
	env["KUBECONFIG"], env["HOME"], env["XDG_CACHE_HOME"] = s.Kubeconfig, home, ""
	env["DBOP_TEST_DIE_AT"], env["NO_COLOR"] = "", "1"
	maps.Copy(env, extra)
	return Command{Path: s.Bin, Env: env, Dir: home}
}

// Tool is an upstream program: kubectl, or one of etcd's of a minor version;
// what hack/cluster built, else what is on the PATH.
func (s *Site) Tool(name, minor string) Command {
	path := filepath.Join(s.Tools, name)
	if minor != "" {
		path = filepath.Join(s.Tools, "etcd-"+minor, name)
	}
	if _, err := os.Stat(path); err != nil {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	return Command{Path: path, Env: map[string]string{"KUBECONFIG": s.Kubeconfig}}
}

// Kubectl is kubectl with the plugin on its PATH, as a user has it.
func (s *Site) Kubectl(home string) Command {
	c := s.CLI(home, nil)
	c.Path = s.Tool("kubectl", "").Path
	c.Env["PATH"] = filepath.Dir(s.Bin) + string(os.PathListSeparator) + os.Getenv("PATH")
	return c
}

// toolsDir is where hack/cluster keeps what it built.
func toolsDir() string {
	if cache := os.Getenv("DBOP_CLUSTER_CACHE"); cache != "" {
		return filepath.Join(cache, "bin")
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "dbop-cluster", "bin")
}

// sourceRoot walks up to the module's go.mod.
func sourceRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the source tree: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}
