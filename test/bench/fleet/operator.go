package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/dbop-dev/kubectl-dbop/deploy"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// tokenFile is where a pod finds its token. Nothing is there: the token itself
// is in the kubeconfig. But that name tells the operator that it runs in a pod
// and reaches other pods at their addresses.
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" // #nosec G101 -- a file's name

// clockTicks is how many of them a second has in /proc.
const clockTicks = 100

// Install puts everything of an operator into the API server but its pods:
// definition, account, rights.
func (p *Plane) Install(ctx context.Context) error {
	client, err := kube.New(p.Config, kube.Options{UserAgent: "fleet"})
	if err != nil {
		return err
	}
	objects, err := deploy.Manifests(deploy.Options{Namespace: deploy.Namespace, Image: "example.org/none:v1",
		Replicas: 1})
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue
		}
		if err := client.ApplyManifest(ctx, o); err != nil {
			return fmt.Errorf("install %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return p.kubeconfig(ctx)
}

// kubeconfig is that of the operator's account.
func (p *Plane) kubeconfig(ctx context.Context) error {
	day := int64(24 * 60 * 60)
	t, err := p.Client.CoreV1().ServiceAccounts(deploy.Namespace).CreateToken(ctx, deploy.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a token for the operator: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["fleet"] = &clientcmdapi.Cluster{Server: p.Config.Host, CertificateAuthority: p.authority()}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: t.Status.Token, TokenFile: tokenFile}
	config.Contexts["fleet"] = &clientcmdapi.Context{Cluster: "fleet", AuthInfo: "operator", Namespace: deploy.Namespace}
	config.CurrentContext = "fleet"
	if err := clientcmd.WriteToFile(*config, p.at("operator.kubeconfig")); err != nil {
		return fmt.Errorf("write the kubeconfig of the operator: %w", err)
	}
	return nil
}

// Operator is a process of the real binary that manages all clusters.
type Operator struct {
	// Began is when it was started.
	Began time.Time

	cmd     *exec.Cmd
	metrics string
	log     string
}

// Operate starts one.
func (p *Plane) Operate(binary string) (*Operator, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	o := &Operator{metrics: net.JoinHostPort(loopback, ports[0]), log: p.at("operator.log")}
	log, err := os.OpenFile(filepath.Clean(o.log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	// the process has its own
	defer func() { _ = log.Close() }()
	health := net.JoinHostPort(loopback, ports[1])
	o.cmd = exec.Command(binary, "operator", "run", "--metrics-address="+o.metrics,
		"--health-address="+health) // #nosec G204
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+p.at("operator.kubeconfig"), "KUBERNETES_SERVICE_HOST="+loopback)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	o.Began = time.Now()
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	return o, nil
}

// Stop ends it in order; Kill does not.
func (o *Operator) Stop() error { return end(o.cmd, syscall.SIGTERM) }

// Kill ends it as a power failure would.
func (o *Operator) Kill() error { return end(o.cmd, syscall.SIGKILL) }

// Seen is how many clusters it has observed since it began, as its metrics tell.
func (o *Operator) Seen(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+o.metrics+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("ask the operator: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask the operator: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	n := 0
	err = eachLine(resp.Body, func(line []byte) error {
		if strings.HasPrefix(string(line), "dbop_cluster_healthy{") {
			n++
		}
		return nil
	})
	return n, err
}

// Resident is how much memory it has, and the most that it ever had, in MB.
func (o *Operator) Resident() (now, most float64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of the operator: %w", err)
	}
	read := func(name string) float64 {
		_, rest, _ := strings.Cut(string(raw), name+":")
		kib, parseErr := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
		err = errors.Join(err, parseErr)
		return kib * 1024 / 1e6
	}
	now, most = read("VmRSS"), read("VmHWM")
	return now, most, err
}

// CPU is how much processor time it has used.
func (o *Operator) CPU() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of the operator: %w", err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	const user, system = 11, 12 // fields 14 and 15 of the line
	if len(fields) <= system {
		return 0, errors.New("read the processor time of the operator: the line is too short")
	}
	u, err1 := strconv.Atoi(fields[user])
	s, err2 := strconv.Atoi(fields[system])
	return time.Duration(u+s) * time.Second / clockTicks, errors.Join(err1, err2)
}
