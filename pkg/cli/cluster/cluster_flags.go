package cluster

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// Flags describe a cluster that is to be.
type Flags struct {
	Engine, Version         string
	Members                 int32
	storage, storageClass   string
	cpu, memory             string
	Image, registry, Helper string
	noTLS, requireSpread    bool
	auth                    bool
	caSecret, issuer        string
	config                  map[string]string
	repository, routing     string
	Force                   bool
}

// routingUsage explains --routing.
const routingUsage = "How the client service leads to the primary: proxied, the default (agents of all members pass " +
	"clients on), or direct (the service selects its pod, which takes the right to make a Role)."

// AddTo defines the flags that create and restore share.
func (c *Flags) AddTo(f *command.Factory, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.Version, "version", c.Version,
		"Version of the database, such as 3.6 (its newest patch) or 3.6.16.")
	flags.StringVar(&c.storage, "storage", command.DefaultStorage, "Size of each member's volume, such as 10Gi.")
	flags.StringVar(&c.storageClass, "storage-class", "",
		"Storage class of the volumes; the cluster's default class if not set.")
	flags.StringVar(&c.cpu, "cpu", "", "CPU request of each member, such as 500m.")
	flags.StringVar(&c.memory, "memory", "", "Memory request and limit of each member, such as 1Gi.")
	flags.StringVar(&c.Image, "image", "", "Image of the database instead of the catalog's, with tag or digest.")
	flags.StringVar(&c.registry, "registry", "",
		"Registry that mirrors all images (environment: "+command.EnvRegistry+").")
	flags.StringVar(&c.Helper, "helper-image", "",
		"Image of this tool for its helper pods (environment: "+command.EnvHelperImage+").")
	flags.BoolVar(&c.noTLS, "no-tls", false, "Serve clients and peers in plain text.")
	flags.StringVar(&c.caSecret, "ca-secret", "",
		"Secret of type kubernetes.io/tls with an authority of your own that signs all certificates.")
	flags.StringVar(&c.issuer, "issuer", "",
		"Issuer of cert-manager that signs an authority for this cluster: NAME, or KIND/NAME as in "+
			"ClusterIssuer/corporate.")
	flags.StringToStringVar(&c.config, "config", nil, "Option of the database as NAME=VALUE; may be repeated.")
	flags.StringVar(&c.routing, "routing", "", routingUsage)
	flags.BoolVar(&c.requireSpread, "require-spread", false, "Never run two members on one node; wait for nodes instead.")
	flags.BoolVar(&c.Force, "force", false, "Accept a number of members that adds cost but no safety.")
	command.CompleteEngineVersions(f, cmd, func() string { return c.Engine })
}

// Cluster builds the wanted cluster. Versions become full, numbers are parsed;
// whether any of it is wise is the engine's business.
func (c *Flags) Cluster(f *command.Factory, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
	secured, err := c.tls()
	if err != nil {
		return nil, err
	}
	e, err := f.EngineNamed(c.Engine)
	if err != nil {
		return nil, err
	}
	version := c.Version
	if version == "" {
		version = e.Catalog().Default
	}
	if release, err := e.Catalog().Resolve(version); err == nil {
		version = release.Version
	} else if c.Image == "" {
		return nil, err
	}
	out := &v1alpha1.DatabaseCluster{}
	out.Name, out.Namespace = name, namespace
	out.Spec = v1alpha1.DatabaseClusterSpec{
		Engine: e.Name(), Version: version, Members: c.Members, Image: c.Image, Config: c.config,
		Registry: f.Either(c.registry, command.EnvRegistry), HelperImage: f.Either(c.Helper, command.EnvHelperImage),
		TLS: secured, Auth: v1alpha1.Auth{Enabled: c.auth || e.Capabilities().Login},
	}
	if e.Capabilities().Agent {
		out.Spec.HelperImage = f.HelperImage(c.Helper, out)
	}
	if c.repository != "" {
		at, err := f.Location(c.repository, nil)
		if err != nil {
			return nil, err
		}
		out.Spec.Backup.Repository = at.String()
	}
	if c.routing != "" {
		if out.Spec.Routing, err = routing(c.routing); err != nil {
			return nil, err
		}
	}
	if c.requireSpread {
		out.Spec.AntiAffinity = "Required"
	}
	if c.storageClass != "" {
		out.Spec.Storage.ClassName = &c.storageClass
	}
	if out.Spec.Storage.Size, err = command.Quantity("storage", c.storage); err != nil {
		return nil, err
	}
	out.Spec.Resources, err = c.resources()
	return out, err
}

// routing is how clients are to be led to the primary.
func routing(text string) (v1alpha1.Routing, error) {
	for _, way := range []v1alpha1.Routing{v1alpha1.RoutingProxied, v1alpha1.RoutingDirect} {
		if strings.EqualFold(text, string(way)) {
			return way, nil
		}
	}
	return "", exit.Misuse("--routing=%s is no way of clients; write proxied or direct", text)
}

// tls is how the cluster is to be secured.
func (c *Flags) tls() (v1alpha1.TLS, error) {
	out := v1alpha1.TLS{Disabled: c.noTLS, CASecret: c.caSecret}
	if c.issuer != "" {
		kind, name, ok := strings.Cut(c.issuer, "/")
		if !ok {
			kind, name = "Issuer", c.issuer
		}
		kind, group, _ := strings.Cut(kind, ".")
		if kind == "" || name == "" || strings.Contains(name, "/") {
			return out,
				exit.Misuse("--issuer=%s is no issuer; write it like corporate, ClusterIssuer/corporate or KIND.GROUP/NAME",
					c.issuer)
		}
		out.Issuer = &v1alpha1.Issuer{Name: name, Kind: kind, Group: cmp.Or(group, "cert-manager.io")}
	}
	if (c.noTLS && (c.caSecret != "" || c.issuer != "")) || (c.caSecret != "" && c.issuer != "") {
		return out, exit.Misuse("--no-tls, --ca-secret and --issuer exclude each other")
	}
	return out, nil
}

// resources keeps memory certain by asking for what is the limit; a CPU limit
// would only throttle the database.
func (c *Flags) resources() (corev1.ResourceRequirements, error) {
	out := corev1.ResourceRequirements{}
	if c.cpu != "" {
		q, err := command.Quantity("cpu", c.cpu)
		if err != nil {
			return out, err
		}
		out.Requests = corev1.ResourceList{corev1.ResourceCPU: q}
	}
	if c.memory != "" {
		q, err := command.Quantity("memory", c.memory)
		if err != nil {
			return out, err
		}
		if out.Requests == nil {
			out.Requests = corev1.ResourceList{}
		}
		out.Requests[corev1.ResourceMemory] = q
		out.Limits = corev1.ResourceList{corev1.ResourceMemory: q}
	}
	return out, nil
}
