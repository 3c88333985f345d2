package operation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// checkSettings judges the settings that a change makes of the whole.
func checkSettings(e engine.Engine, o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	if o.Settings.Size.Cmp(o.FromSettings.Size) < 0 {
		return &engine.Refusal{Check: "shrink", Reason: fmt.Sprintf(
			"volumes of %s have %s, and Kubernetes can't make one smaller", c.Name, o.FromSettings.Size.String()),
			Hint: "a restore into a new cluster can have smaller ones: kubectl dbop backup, then kubectl dbop restore NAME " +
				"--from BACKUP --storage SIZE"}
	}
	changed := c.DeepCopy()
	o.Settings.Apply(&changed.Spec)
	if err := rules.CheckRouting(e, changed.Spec); err != nil {
		return err
	}
	if err := rules.CheckHelperImage(e, changed.Spec); err != nil && o.Change != nil && o.Change.HelperImage != nil {
		return err
	}
	if err := checkResources(changed.Spec.Resources); err != nil {
		return err
	}
	if err := ops.CheckAmounts(changed.Spec); err != nil {
		return err
	}
	if err := e.CheckSettings(engine.View{}, changed.Spec, slices.Contains(o.Waive, "size")); err != nil {
		return err
	}
	if err := checkFixed(e, o, c); err != nil {
		return err
	}
	_, err := rules.SettingsDigest(e, changed)
	return err
}

// checkFixed refuses other values of what is given when a cluster is made.
func checkFixed(e engine.Engine, o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	f, ok := e.(engine.FixedSettings)
	if !ok {
		return nil
	}
	former, next := c.DeepCopy().Spec, c.DeepCopy().Spec
	o.FromSettings.Apply(&former)
	o.Settings.Apply(&next)
	have, err := f.LiveOptions(former)
	if err != nil {
		return nil //nolint:nilerr // what was refused never came into force: this change may mend it
	}
	want, err := f.LiveOptions(next)
	if err != nil {
		return err
	}
	for _, name := range f.FixedOptions() {
		if have[name] != want[name] {
			return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the option %s of %s is %s, and stays so: it is "+
				"given when a cluster is made, because what was promised under the former value must hold", name, c.Name,
				have[name]),
				Hint: fmt.Sprintf("a restore into a new cluster can have another: kubectl dbop backup, then kubectl dbop restore "+
					"NAME --from BACKUP --config %s=%s", name, want[name])}
		}
	}
	return nil
}

// checkResources refuses a request above its limit, which the API server would
// refuse of the pod only when it is made.
func checkResources(r corev1.ResourceRequirements) error {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, asked := r.Requests[name]
		limit, limited := r.Limits[name]
		if asked && limited && request.Cmp(limit) > 0 {
			return &engine.Refusal{Check: "resources", Reason: fmt.Sprintf("the request of %s %s is above its limit of %s",
				request.String(), name, limit.String()),
				Hint: fmt.Sprintf("raise the limit with --%s-limit, or take it away with --%s-limit 0", name, name)}
		}
	}
	return nil
}
