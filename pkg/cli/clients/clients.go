package clients

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Clients is all that the commands ask of the world outside of this process:
// of Kubernetes, of databases and of repositories. Nothing is dialled before
// the first call, so that help works without a cluster.
type Clients interface {
	// Store reads and writes records of clusters and operations.
	Store(mode kube.DryRun) (store.Store, error)
	// Runner performs operations on clusters of one engine.
	Runner(o RunnerOptions) (*Runner, error)
	// External finds a database that something else made.
	External(ctx context.Context, c external.Config) (External, error)
	// Repository opens a repository; image runs the helper pod where one is needed.
	Repository(ctx context.Context, namespace string, at repository.Location, image string) (repository.Repository, error)
	// Named keeps the repositories that have a name in a namespace.
	Named(mode kube.DryRun) (Named, error)
	// Verify restores a backup into a throw-away member of a cluster like the
	// given one, which may be gone, until it is proven or ctx ends.
	Verify(ctx context.Context, v Verification) error
	// LocalProxy opens a way into a member for a program of this machine, as a user or, with "", as the administrator.
	LocalProxy(ctx context.Context, t *Target, member, user string) (LocalProxy, error)

	// Pods lists by label selector; "" is all namespaces.
	Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error)
	// Logs streams the log of one pod.
	Logs(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)
	// Exec runs a command in a pod, attached to the streams; tty asks for a terminal.
	Exec(ctx context.Context, namespace, pod string, argv []string, s progress.Streams, tty bool) error
	// Namespaces are the names of all namespaces that may be listed.
	Namespaces(ctx context.Context) ([]string, error)

	// Holding says who works on a cluster, or takes a backup of it.
	Holding(ctx context.Context, namespace, cluster string, scope lease.Scope) (lease.Holding, error)
	// Evidence is everything that exists of a cluster.
	Evidence(ctx context.Context, namespace, cluster string) observe.Evidence
	// Kept is what is there of a cluster besides its record.
	Kept(ctx context.Context, namespace, cluster string) (store.Kept, error)
	// Leftovers names the clusters of which a namespace holds objects.
	Leftovers(ctx context.Context, namespace string) ([]string, error)
	// Preflight reads a namespace and, if it is named, a claim for backups.
	Preflight(ctx context.Context, namespace, claim string) (preflight.Report, error)
	// CertificateSecrets are the names of the secrets with a certificate.
	CertificateSecrets(ctx context.Context, namespace string) ([]string, error)
	// Passwords reads a secret; kube.ErrNotFound if there is none.
	Passwords(ctx context.Context, namespace, secret string) (password.Set, error)
	// Users asks the database who there is.
	Users(ctx context.Context, t *Target) ([]engine.User, error)

	// Custom is the custom resource of a cluster, and whether the operator that
	// took notice of it is alive; kube.ErrNotFound if there is none.
	Custom(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, bool, error)
	// Adopt puts a cluster under a custom resource, Release takes it back. Both
	// end with ops.Unchanged where there is nothing to do.
	Adopt(ctx context.Context, t *Target) error
	Release(ctx context.Context, t *Target) error

	// Manifest reads the object that has the identity of the given one.
	Manifest(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error)
	ApplyManifest(ctx context.Context, mode kube.DryRun, u *unstructured.Unstructured) error
	DeleteManifest(ctx context.Context, mode kube.DryRun, u *unstructured.Unstructured) error
	// Rollout says how many pods of a Deployment are ready, and its image.
	Rollout(ctx context.Context, namespace, name string) (ready, wanted int64, image string, err error)

	// ServerVersion is that of the API server.
	ServerVersion() (*version.Info, error)
	// Whoami is for the record; "" where it can't be found out.
	Whoami(ctx context.Context) string
}

// Runner performs operations on clusters of one engine.
type Runner struct {
	Operations
	// Cluster is the cluster itself, for observations and for rehearsals.
	Cluster func(namespace, cluster string) ops.ClosableCluster
}

// Operations is what the commands ask of what performs operations.
type Operations interface {
	Prepare(ctx context.Context, namespace string, req planner.Request) (*planner.Prepared, error)
	Run(ctx context.Context, namespace string, req planner.Request) (*v1alpha1.Operation, error)
	Resume(ctx context.Context, namespace, cluster string, cancel bool) (*v1alpha1.Operation, error)
	PrepareResume(ctx context.Context, namespace, cluster string, cancel bool) (*planner.Prepared, error)
}

// RunnerOptions is what a Runner depends on.
type RunnerOptions struct {
	Engine engine.Engine
	// Wanted is the cluster that is to be, for create and restore.
	Wanted   *v1alpha1.DatabaseCluster
	Reporter ops.Reporter
	Stop     <-chan struct{}
	DryRun   kube.DryRun
}

// Verification is one backup to verify.
type Verification struct {
	Engine     engine.Engine
	Like       *v1alpha1.DatabaseCluster
	Repository repository.Repository
	Backup     string
	// Level is what is to be proven, and By who asks for it.
	Level repository.Level
	By    string
	// Progress and Waiting tell how it goes; Waiting is called when the reason changes.
	Progress func(bytes, total int64)
	Waiting  func(why string)
}

// External is a database that something else made.
type External interface {
	Title() string
	Inspect(ctx context.Context) external.Inspection
	Backup(ctx context.Context, r repository.Repository, id string,
		report func(bytes, total int64)) (repository.Manifest, error)
	Close() error
}

// LocalProxy is a way into a member that ends with the command.
type LocalProxy interface {
	At() engine.ClientEndpoint
	// Err is why the member could last not be reached.
	Err() error
	Close() error
}
