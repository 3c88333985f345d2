package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// clusterFlags describe a cluster that is to be.
type clusterFlags struct {
	engine, version         string
	members                 int32
	storage, storageClass   string
	cpu, memory             string
	image, registry, helper string
	noTLS, requireSpread    bool
	config                  map[string]string
	repository              string
	force                   bool
}

// addTo defines the flags that create and restore share.
func (c *clusterFlags) addTo(f *Factory, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.version, "version", c.version, "Version of the database, such as 3.6 (its newest patch) or 3.6.16.")
	flags.StringVar(&c.storage, "storage", "1Gi", "Size of each member's volume, such as 10Gi.")
	flags.StringVar(&c.storageClass, "storage-class", "", "Storage class of the volumes; the cluster's default class if not set.")
	flags.StringVar(&c.cpu, "cpu", "", "CPU request of each member, such as 500m.")
	flags.StringVar(&c.memory, "memory", "", "Memory request and limit of each member, such as 1Gi.")
	flags.StringVar(&c.image, "image", "", "Image of the database instead of the catalog's, with tag or digest.")
	flags.StringVar(&c.registry, "registry", "", "Registry that mirrors all images (environment: "+envRegistry+").")
	flags.StringVar(&c.helper, "helper-image", "", "Image of this tool for its helper pods (environment: "+envHelperImage+").")
	flags.BoolVar(&c.noTLS, "no-tls", false, "Serve clients and peers in plain text.")
	flags.StringToStringVar(&c.config, "config", nil, "Option of the database as NAME=VALUE; may be repeated.")
	flags.BoolVar(&c.requireSpread, "require-spread", false, "Never run two members on one node; wait for nodes instead.")
	flags.BoolVar(&c.force, "force", false, "Accept a number of members that adds cost but no safety.")
	completeEngineVersions(f, cmd, func() string { return c.engine })
}

// cluster builds the wanted cluster. Versions become full, numbers are parsed;
// whether any of it is wise is the engine's business.
func (c *clusterFlags) cluster(f *Factory, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
	e, err := f.engineNamed(c.engine)
	if err != nil {
		return nil, err
	}
	version := c.version
	if version == "" {
		version = e.Catalog().Default
	}
	if release, err := e.Catalog().Resolve(version); err == nil {
		version = release.Version
	} else if c.image == "" {
		return nil, err
	}
	out := &v1alpha1.DatabaseCluster{}
	out.Name, out.Namespace = name, namespace
	out.Spec = v1alpha1.DatabaseClusterSpec{
		Engine: e.Name(), Version: version, Members: c.members, Image: c.image, Config: c.config,
		Registry: f.either(c.registry, envRegistry), HelperImage: f.either(c.helper, envHelperImage),
		TLS: v1alpha1.TLS{Disabled: c.noTLS},
	}
	if c.repository != "" {
		at, err := f.location(c.repository, nil)
		if err != nil {
			return nil, err
		}
		out.Spec.Backup.Repository = at.String()
	}
	if c.requireSpread {
		out.Spec.AntiAffinity = "Required"
	}
	if c.storageClass != "" {
		out.Spec.Storage.ClassName = &c.storageClass
	}
	if out.Spec.Storage.Size, err = quantity("storage", c.storage); err != nil {
		return nil, err
	}
	out.Spec.Resources, err = c.resources()
	return out, err
}

// resources keeps memory certain by asking for what is the limit; a CPU limit
// would only throttle the database.
func (c *clusterFlags) resources() (corev1.ResourceRequirements, error) {
	out := corev1.ResourceRequirements{}
	if c.cpu != "" {
		q, err := quantity("cpu", c.cpu)
		if err != nil {
			return out, err
		}
		out.Requests = corev1.ResourceList{corev1.ResourceCPU: q}
	}
	if c.memory != "" {
		q, err := quantity("memory", c.memory)
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

func quantity(flag, text string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return q, misuse("--%s=%s is not an amount; write it like 1Gi or 500m", flag, text)
	}
	return q, nil
}

// either is the flag, else the environment.
func (f *Factory) either(flag, variable string) string {
	if flag != "" {
		return flag
	}
	return f.Getenv(variable)
}

// checkName judges a new cluster's name before a single request is made.
func checkName(name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return &usageError{text: fmt.Sprintf("%q can't be the name of a cluster: %s", name, strings.Join(problems, "; ")),
			hint: "use small letters, digits and '-', beginning with a letter, such as my-db"}
	}
	if len(name) > v1alpha1.MaxNameLength {
		return &usageError{text: fmt.Sprintf("%q is too long for the name of a cluster: %d characters, at most %d", name, len(name), v1alpha1.MaxNameLength)}
	}
	return nil
}

func newCreate(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME --engine ENGINE",
		Short: "Create a database cluster",
		Long: `Create a database cluster. Repeating the command continues a creation that was interrupted, and does
nothing to a cluster that is as asked already.`,
		Example: `  # Create a cluster of three members with the default version
  kubectl dbop create my-db --engine etcd

  # Choose version and size, spread over three nodes
  kubectl dbop create my-db --engine etcd --version 3.6 --members 3 --storage 8Gi --require-spread`,
		Args:              arguments(1, 1, "the NAME of the new cluster"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			if flags.engine == "" {
				return &usageError{text: "--engine is required", hint: displayName + " engines lists what there is"}
			}
			if err := checkName(args[0]); err != nil {
				return err
			}
			in, err := createIntent(cmd.Context(), f, flags, args[0])
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, false)
	cmd.Flags().StringVar(&flags.engine, "engine", "", "Database product, see 'kubectl dbop engines'.")
	cmd.Flags().Int32Var(&flags.members, "members", 3, "Number of members.")
	cmd.Flags().StringVar(&flags.repository, "repository", "", "Default repository of this cluster's backups, such as dir:/backups or pvc:claim.")
	flags.addTo(f, cmd)
	completeEngines(f, cmd)
	return cmd
}

func createIntent(ctx context.Context, f *Factory, flags *clusterFlags, name string) (intent, error) {
	namespace, err := f.namespace()
	if err != nil {
		return intent{}, err
	}
	cluster, err := flags.cluster(f, namespace, name)
	if err != nil {
		return intent{}, err
	}
	if err := f.founding(cluster, cluster.Spec.Members); err != nil {
		return intent{}, err
	}
	e, err := f.engineNamed(flags.engine)
	if err != nil {
		return intent{}, err
	}
	spec := f.operation(ctx, v1alpha1.VerbCreate, name)
	spec.Members, spec.Version = cluster.Spec.Members, cluster.Spec.Version
	if flags.force {
		spec.Waive = []string{"size"}
	}
	return intent{namespace: namespace, engine: e, request: ops.Request{Operation: spec, Cluster: cluster},
		subject: e.Name() + "/" + name, verbed: "created", next: displayName + " status " + name}, nil
}
