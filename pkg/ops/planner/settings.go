package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// SettingsDigest sums up what decides how a member's process of this cluster
// behaves: the engine's effective options, resources, and an image of
// one's own. Workload and pod carry the digest of what they were made
// from. It is compared only under an operation that asks for other settings:
// a newer tool, whose defaults may differ, restarts nobody by being newer.
func SettingsDigest(e engine.Engine, c *v1alpha1.DatabaseCluster) (string, error) {
	options, err := e.Options(c, c.Spec.Version)
	if err != nil {
		return "", err
	}
	content, err := json.Marshal(struct {
		Options   map[string]string           `json:"options"`
		Resources corev1.ResourceRequirements `json:"resources"`
		Image     string                      `json:"image"`
	}{options, c.Spec.Resources, c.Spec.Image})
	if err != nil {
		return "", fmt.Errorf("sum up the settings of %s: %w", c.Name, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}

// Settings is the wanted digest; "", which nothing bears, if the wanted
// options make no sense, which check refuses before anything is written.
func Settings(s ops.State, e engine.Engine) string {
	digest, err := SettingsDigest(e, s.Cluster)
	if err != nil {
		return ""
	}
	return digest
}

// checkSettings judges the settings that a change makes of the whole.
func checkSettings(e engine.Engine, o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	if o.Settings.Size.Cmp(o.FromSettings.Size) < 0 {
		return &engine.Refusal{Check: "shrink", Reason: fmt.Sprintf("volumes of %s have %s, and Kubernetes can't make one smaller", c.Name, o.FromSettings.Size.String()),
			Hint: "a restore into a new cluster can have smaller ones: kubectl dbop backup, then kubectl dbop restore NAME --from BACKUP --storage SIZE"}
	}
	changed := c.DeepCopy()
	o.Settings.Apply(&changed.Spec)
	if err := checkResources(changed.Spec.Resources); err != nil {
		return err
	}
	if err := ops.CheckAmounts(changed.Spec); err != nil {
		return err
	}
	if err := e.CheckSettings(engine.View{}, changed.Spec, slices.Contains(o.Waive, "size")); err != nil {
		return err
	}
	_, err := SettingsDigest(e, changed)
	return err
}

// checkResources refuses a request above its limit, which the API server would
// refuse of the pod only when it is made.
func checkResources(r corev1.ResourceRequirements) error {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, asked := r.Requests[name]
		limit, limited := r.Limits[name]
		if asked && limited && request.Cmp(limit) > 0 {
			return &engine.Refusal{Check: "resources", Reason: fmt.Sprintf("the request of %s %s is above its limit of %s", request.String(), name, limit.String()),
				Hint: fmt.Sprintf("raise the limit with --%s-limit, or take it away with --%s-limit 0", name, name)}
		}
	}
	return nil
}
