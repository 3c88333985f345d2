package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// SettingsDigest sums up what decides how a member's process of this cluster
// behaves: the engine's effective options, resources, an image of one's own,
// and whether its agent leads clients. Workload and pod carry the digest of what they were made
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
		Direct    bool                        `json:"direct,omitempty"`
	}{options, c.Spec.Resources, c.Spec.Image, c.Spec.Direct()})
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
