package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// RenderingDigest sums up the template that this very program gives to members
// of the cluster. Who else is a member is left out of it, so that it changes
// with what the cluster wants and with the program only. Workload and pod
// carry the digest of what they were made from; see State.Drifted.
func RenderingDigest(e engine.Engine, c *v1alpha1.DatabaseCluster, image, tool string) (string, error) {
	member := c.Name + "-1"
	pod, err := e.Pod(engine.PodInput{Cluster: c, Member: member, Image: image, Version: c.Spec.Version,
		ToolImage: tool, Peers: []string{member}})
	if err != nil {
		return "", err
	}
	w := workload.Build(workload.Input{Cluster: c, Member: member, Pod: pod, Version: c.Spec.Version})
	content, err := json.Marshal(w.Spec.Template)
	if err != nil {
		return "", fmt.Errorf("sum up the template of %s: %w", c.Name, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}

// Drifted lists the members whose template, or whose pod, is not as this
// program would render it: another version of it did, or the cluster wants
// something that restarts nobody by itself. Nothing is done about it but what
// a person asks for. Members of another version than wanted are the business
// of an upgrade.
func Drifted(s ops.State) []string {
	if s.Cluster == nil || s.Rendering == "" {
		return nil
	}
	var out []string
	for _, m := range s.Kube.Members {
		w := m.Workload
		if !w.Exists || w.Terminating || w.Version != s.Cluster.Spec.Version || !s.Ours(m) {
			continue
		}
		if w.Rendering != s.Rendering || (m.Pod.Exists && m.Pod.Rendering != s.Rendering) {
			out = append(out, m.Name)
		}
	}
	return out
}

// MayRender judges settings that members would get with another template:
// defaults of another version, which nobody asked for by name. It is asked
// before each restart: another version may have started the operation.
func (p Situation) MayRender(members []string) *ops.Decision {
	want := Settings(p.S, p.E)
	for _, name := range members {
		if p.S.Kube.Member(name).Workload.Settings == want {
			continue
		}
		if err := p.E.CheckSettings(p.S.View, p.S.Cluster.Spec, false); err != nil {
			return Block(ops.Refusal(err))
		}
	}
	return nil
}
