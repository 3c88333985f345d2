package cluster

import (
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// resizeFlags are amounts as they were typed; "" leaves one as it is.
type resizeFlags struct{ cpu, memory, cpuLimit, memoryLimit, storage string }

// NewResize makes the command resize.
func NewResize(f *command.Factory) *cobra.Command {
	r := &resizeFlags{}
	s := command.Simple{
		Verb: v1alpha1.VerbResize, Verbed: "resized", Downtime: true, Longer: true,
		Use: "resize [NAME]", Short: "Change memory, CPU and the size of volumes",
		Long: `Change memory, CPU and the size of volumes.

Volumes grow first, while their members run: a full one is a reason to come here. They never become smaller again,
not by 'kubectl dbop cancel' either. What the database may store follows the volume unless it was set.

Memory, CPU and that limit are read at start, so members restart one by one, followers first and the leader last
after it handed over. If one does not come up, 'kubectl dbop cancel' puts back what was before.`,
		Example: `  # Give each member of my-db 1 GiB of memory, requested and as the limit
  kubectl dbop resize my-db --memory 1Gi

  # Grow the volumes
  kubectl dbop resize my-db --storage 20Gi`}
	s.Fill = r.fill
	cmd := command.NewSimple(f, s)
	flags := cmd.Flags()
	flags.StringVar(&r.cpu, "cpu", "", "CPU request of each member, such as 500m; 0 takes it away.")
	flags.StringVar(&r.memory, "memory", "", "Memory request and limit of each member, such as 1Gi; 0 takes them away.")
	flags.StringVar(&r.cpuLimit, "cpu-limit", "", "CPU limit of each member; 0 takes it away.")
	flags.StringVar(&r.memoryLimit, "memory-limit", "",
		"Memory limit of each member, if it is not to be the request; 0 takes it away.")
	flags.StringVar(&r.storage, "storage", "", "Size that each member's volume grows to, such as 20Gi.")
	return cmd
}

// fill makes a change of the flags. The request for memory is its limit, as
// create does it.
func (r *resizeFlags) fill(o *v1alpha1.OperationSpec) error {
	change := &v1alpha1.SettingsChange{}
	memoryLimit := r.memoryLimit
	if memoryLimit == "" {
		memoryLimit = r.memory
	}
	for _, a := range []struct {
		flag, text string
		list       *corev1.ResourceList
		name       corev1.ResourceName
	}{
		{"cpu", r.cpu, &change.Requests, corev1.ResourceCPU},
		{"memory", r.memory, &change.Requests, corev1.ResourceMemory},
		{"cpu-limit", r.cpuLimit, &change.Limits, corev1.ResourceCPU},
		{"memory-limit", memoryLimit, &change.Limits, corev1.ResourceMemory},
	} {
		if a.text == "" {
			continue
		}
		q, err := resource.ParseQuantity(a.text)
		if err != nil || q.Sign() < 0 {
			return exit.Misuse("--%s=%s is not an amount; write it like 1Gi or 500m", a.flag, a.text)
		}
		if *a.list == nil {
			*a.list = corev1.ResourceList{}
		}
		(*a.list)[a.name] = q
	}
	if r.storage != "" {
		q, err := command.Quantity("storage", r.storage)
		if err != nil {
			return err
		}
		change.Size = &q
	}
	if len(change.Requests) == 0 && len(change.Limits) == 0 && change.Size == nil {
		return exit.Misuse("say what is to change: --memory, --memory-limit, --cpu, --cpu-limit or --storage")
	}
	o.Change = change
	return nil
}
