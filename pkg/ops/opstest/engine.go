// Package opstest has databases, states and a Kubernetes for the tests of operations.
package opstest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Engine is "fakedb", a database with simple rules: an odd number of members
// unless insisted, one minor at a time upwards, nothing back to 3.4, no option
// "colour". Who is reachable is healthy. What it lacks panics.
type Engine struct{ engine.Engine }

// CompareVersions orders by number.
func (Engine) CompareVersions(a, b string) (int, bool) { return Versions(2).CompareVersions(a, b) }

// Series is the first two numbers.
func (Engine) Series(version string) string { return Versions(2).Series(version) }

// Readings of a position there are none.
func (Engine) Readings(engine.Position) []engine.Reading { return nil }

// Lag is not known.
func (Engine) Lag(engine.Gap) (engine.Distance, bool) { return engine.Distance{}, false }

// CompareProofs takes equal ones for the same data.
func (Engine) CompareProofs(want, got engine.Proof) engine.Match { return match(want, got) }

// Witnesses there are none.
func (Engine) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 0 }

// MinAvailable is a majority.
func (Engine) MinAvailable(members int) int {
	if members < 2 {
		return 0
	}
	return members/2 + 1
}

// AssessLoss is nothing: a majority has what was acknowledged.
func (Engine) AssessLoss(engine.View, string) string { return "" }

func (Engine) Name() string { return "fakedb" }

func (Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, Learners: true, HandOver: true, Announce: true, Users: true, MaxMembers: 7,
		DefragmentGain: 200 << 20, OddMembers: true}
}

func (Engine) Catalog() engine.Catalog {
	return engine.Catalog{Default: "3.6.2", Releases: []engine.Release{
		{Version: "3.5.9", Series: "3.5", Image: "example.org/fakedb:3.5.9"},
		{Version: "3.6.2", Series: "3.6", Image: "example.org/fakedb:3.6.2"},
		{Version: "3.7.0", Series: "3.7", Image: "example.org/fakedb:3.7.0"}}}
}

func (Engine) CheckCreate(s v1alpha1.DatabaseClusterSpec, force bool) error {
	if s.Members%2 == 0 && !force {
		return &engine.Refusal{Check: "size", Reason: fmt.Sprintf("%d members tolerate no more than %d", s.Members,
			s.Members-1), Hint: "choose an odd number, or insist with --force"}
	}
	return nil
}

// JoinsAtOnce is one.
func (Engine) JoinsAtOnce(engine.View, map[string]int) int { return 1 }

func (Engine) CheckAdd(engine.View) error              { return nil }
func (Engine) CheckRemove(engine.View, string) error   { return nil }
func (Engine) CheckUpgraded(engine.View, string) error { return nil }
func (Engine) Preparation(engine.View, string) string  { return "" }
func (Engine) CheckRollback(engine.View, string) error { return nil }
func (Engine) Options(c *v1alpha1.DatabaseCluster, _ string) (map[string]string, error) {
	return c.Spec.Config, nil
}

func (Engine) CheckDowngrade(_ engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	if strings.HasPrefix(target, "3.4") {
		return &engine.Refusal{Check: "downgrade", Reason: "nothing goes back to " + target, Hint: "kubectl dbop restore"}
	}
	return nil
}

func (Engine) Way(c *v1alpha1.DatabaseCluster) engine.ClientWay {
	return engine.ClientWay{OnMachine: c.Spec.Auth.Enabled}
}

// InPod implements engine.ClientProgram.
func (Engine) InPod(_ *v1alpha1.DatabaseCluster, _ engine.ClientLogin, args []string) []string {
	return append([]string{"fakectl"}, args...)
}

func (Engine) OnMachine(args []string, at engine.ClientEndpoint) engine.Program {
	p := engine.Program{Args: append([]string{"fakectl"}, args...),
		Env: []string{"FAKECTL_AT=" + at.Address, "FAKECTL_CA=" + at.CAFile, "FAKECTL_PASSWORD="}}
	if at.Credentials != nil {
		p.Env[2] += at.Credentials.Password
	}
	return p
}

func (Engine) Ports(*v1alpha1.DatabaseCluster) []corev1.ServicePort {
	return []corev1.ServicePort{{Name: "client", Port: 2000}}
}

func (Engine) CheckLowered(v engine.View, _ string) error {
	if v.Downgrade == "" {
		return fmt.Errorf("nothing was announced: %w", engine.ErrNotReady)
	}
	return nil
}

func (Engine) CheckSettings(_ engine.View, spec v1alpha1.DatabaseClusterSpec, _ bool) error {
	if _, ok := spec.Config["colour"]; ok {
		return &engine.Refusal{Check: "config", Reason: `option "colour" is not known to fakedb`,
			Hint: "did you mean color?"}
	}
	return nil
}
func (Engine) ListOptions(string) ([]engine.Option, error) {
	return []engine.Option{
		{Name: "color", Kind: "enum", Allowed: "red, green", Default: "red", Restart: true},
		{Name: "data-dir", Restart: true, Managed: "data stays on the member's own volume"},
		{Name: "speed", Kind: "integer", Allowed: "1 to 9", Default: "5", Restart: true},
	}, nil
}
func (Engine) CheckUpgrade(v engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	for _, m := range v.Members {
		if strings.HasPrefix(m.Version, "3.5") && strings.HasPrefix(target, "3.7") {
			return &engine.Refusal{Check: "skipped-minor", Reason: m.Name + " runs " + m.Version + ": one minor at a time",
				Hint: "upgrade to 3.6 first"}
		}
	}
	return nil
}

func (Engine) SpaceOption() string { return "room" }
func (Engine) Advise(_ *v1alpha1.DatabaseCluster, _, alarm string) (engine.Advice, bool) {
	return engine.Advice{Meaning: "it is full", Remedy: []string{"empty it"}}, alarm == "FULL"
}

// Horizon, for an engine that is always at revision 1000.
func (Engine) CompactRevision(_ engine.View, revision, keep int64) (int64, error) {
	if revision > 1000 {
		return 0, &engine.Refusal{Check: "revision", Reason: "still to come", Hint: "choose another"}
	}
	if revision > 0 {
		return revision, nil
	}
	return 1000 - keep, nil
}
func (Engine) CompactImpact(int64) string { return "clients that read older ones are refused" }

// whole takes any bytes for a whole snapshot.
type whole struct{}

func (whole) Write(p []byte) (int, error) { return len(p), nil }
func (whole) Close() error                { return nil }

func (Engine) CheckStream() io.WriteCloser { return whole{} }

// OpenSnapshot takes a file that begins with "snapshot"; its version may follow.
func (Engine) OpenSnapshot(path string, _ bool) (engine.SnapshotFacts, error) {
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	schema, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "snapshot")
	if !ok {
		return engine.SnapshotFacts{}, fmt.Errorf("%w: it begins with %.4q", engine.ErrNotSnapshot, content)
	}
	return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Proof: "7 keys",
		Readings: []engine.Reading{{Name: "revision", Value: "42"},
			{Name: "keys", Value: "7"}}}, Schema: strings.TrimSpace(schema), Members: []string{"a", "b", "c"}}, nil
}

func (Engine) CheckRestore(from, target string) error {
	if target < from {
		return &engine.Refusal{Check: "older", Reason: target + " can't load a backup of " + from, Hint: "choose " + from}
	}
	return nil
}

func (Engine) Health(v engine.View, name string) error {
	m := v.Member(name)
	if !m.Reachable {
		return fmt.Errorf("%s does not answer", name)
	}
	return nil
}

func (Engine) Tolerates(v engine.View) int {
	voters, well := len(v.Voters()), 0
	for _, r := range v.Voters() {
		if v.Member(r.Name).Reachable {
			well++
		}
	}
	return well - (voters/2 + 1)
}

func (Engine) Successor(v engine.View, except ...string) string {
	for _, r := range v.Voters() {
		if !strings.Contains(strings.Join(except, " ")+" ", r.Name+" ") {
			return r.Name
		}
	}
	return ""
}

func (Engine) RemovalCandidate(v engine.View) string {
	voters := v.Voters()
	return voters[len(voters)-1].Name
}

func (Engine) Source(v engine.View, _ bool) string {
	for _, r := range v.Voters() {
		return r.Name
	}
	return ""
}

func (Engine) Compare(a, b engine.Position) (int, bool) {
	return strings.Compare(string(a), string(b)), true
}

func (Engine) Recognize(corev1.PodSpec) (engine.MemberConfig, bool) {
	return engine.MemberConfig{}, false
}
func (Engine) AssessRisks([]engine.MemberConfig, engine.View) []engine.Risk { return nil }
