package external

import (
	"context"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// silentJudge knows no danger of its own.
type silentJudge struct{}

func (silentJudge) Recognize(corev1.PodSpec) (engine.MemberConfig, bool) {
	return engine.MemberConfig{}, false
}

func (silentJudge) AssessRisks([]engine.MemberConfig, engine.View) []engine.Risk { return nil }

func TestAlign(t *testing.T) {
	t.Parallel()
	v := engine.View{Members: []engine.Member{{Name: "pod-0", ID: "a"}, {Name: "pod-1", ID: "b"}, {Name: "pod-2"}},
		MemberList: []engine.Registered{{ID: "b", Name: "second", Started: true}, {ID: "a", Name: "first", Started: true},
			{ID: "c", Name: "third", Started: true}}}
	names := align(&v)
	for pod, want := range map[string]string{"pod-0": "first", "pod-1": "second", "pod-2": "pod-2"} {
		if names[pod] != want {
			t.Errorf("%s is %q, want %q", pod, names[pod], want)
		}
	}
	if v.Member("first").ID != "a" || v.Member("second").ID != "b" {
		t.Errorf("members %+v", v.Members)
	}
}

// TestInspection changes one thing at a time about a sound database of three.
func TestInspection(t *testing.T) {
	t.Parallel()
	pod := func(name, node string) external.Pod {
		return external.Pod{Name: name, Pod: observe.Pod{Node: node, Running: true}, Spread: true, Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}}}
	}
	sound := func() *inspection {
		s := &inspection{engine: opstest.Stub{}, recognizer: silentJudge{},
			pods:    map[string]external.Pod{"a": pod("a", "n1"), "b": pod("b", "n2"), "c": pod("c", "n3")},
			outside: external.Cluster{Budgets: []string{"pdb"}, Pods: []external.Pod{{}}},
			view:    engine.View{Quorum: true, ClusterIDs: []string{"1"}}}
		for _, name := range []string{"a", "b", "c"} {
			s.view.Members = append(s.view.Members, engine.Member{Name: name, ID: name, Reachable: true, Serving: true})
			s.view.MemberList = append(s.view.MemberList, engine.Registered{ID: name, Name: name, Voter: true, Started: true})
		}
		return s
	}
	for _, f := range sound().judge() {
		if f.Severity != ops.OK {
			t.Errorf("of a sound one: %+v", f)
		}
	}
	for name, c := range map[string]struct {
		change         func(*inspection)
		severity       ops.Severity
		subject, words string
	}{
		"split":     {func(s *inspection) { s.view.ClusterIDs = []string{"1", "2"} }, ops.Fail, "identity", "split"},
		"no quorum": {func(s *inspection) { s.view.Quorum = false }, ops.Fail, "quorum", "no member"},
		"a dead one": {func(s *inspection) { s.view.Members[1].Reachable = false }, ops.Fail, "member b",
			"does not answer"},
		"no pod": {func(s *inspection) {
			s.view.MemberList = append(s.view.MemberList, engine.Registered{Name: "d", Voter: true})
		}, ops.Fail, "member d", "does not answer"},
		"even":      {func(s *inspection) { s.view.MemberList = s.view.MemberList[:2] }, ops.Warn, "size", "2 voters"},
		"single":    {func(s *inspection) { s.view.MemberList = s.view.MemberList[:1] }, ops.Warn, "size", "one member"},
		"no budget": {func(s *inspection) { s.outside.Budgets = nil }, ops.Warn, "disruption budget", "none"},
		"unknown": {func(s *inspection) { s.outside.BudgetsUnknown = "forbidden" }, ops.Warn, "disruption budget",
			"can't be read"},
		"one node": {func(s *inspection) { s.pods["b"] = pod("b", "n1") }, ops.Warn, "nodes",
			"2 of 3 members run on node n1"},
		"no affinity": {func(s *inspection) { p := pod("b", "n2"); p.Spread = false; s.pods["b"] = p }, ops.Warn,
			"anti-affinity", "nothing keeps"},
		"no volume": {func(s *inspection) { p := pod("b", "n2"); p.Spec.Volumes = nil; s.pods["b"] = p }, ops.Fail,
			"volumes", "no persistent volume"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			c.change(s)
			for _, f := range s.judge() {
				if f.Severity == c.severity && f.Subject == c.subject && strings.Contains(f.What, c.words) {
					return
				}
			}
			t.Errorf("no %s of %s says %q: %+v", c.severity, c.subject, c.words, s.all)
		})
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, member, want string
	}{{"etcd", "x-0", "etcd"}, {"", "etcd-main-2", "etcd-main"}, {"", "etcd-abcde", "etcd-abcde"},
		{"", "etcd-0.etcd.shop.svc", "etcd"}} {
		o := &Cluster{Config: Config{Name: c.name}, members: []outsideMember{{name: c.member}}}
		if got := o.Title(); got != c.want {
			t.Errorf("%+v is called %q", c, got)
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	o := &Cluster{Config: Config{Endpoints: []string{"etcd-0:2379", "etcd-1", "https://db.example.org:2379"}}}
	pods, err := o.endpoints()
	if err != nil || len(pods) != 2 || o.members[0].port != 2379 || o.members[1].port != 0 ||
		o.members[2].url.Hostname() != "db.example.org" {
		t.Errorf("%v, %+v, %v", pods, o.members, err)
	}
	for _, wrong := range []string{"", ":2379", "etcd-0:many", "https://db.example.org", "ftp://x:1", "etcd-0:99999"} {
		o := &Cluster{Config: Config{Endpoints: []string{wrong}}}
		if _, err := o.endpoints(); ops.KindOf(err) != ops.Refused {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// product is an engine that recognizes its image.
type product struct {
	opstest.Stub
	silentJudge

	name string
}

func (p product) Name() string { return p.name }

func (p product) Recognize(pod corev1.PodSpec) (engine.MemberConfig, bool) {
	return engine.MemberConfig{}, len(pod.Containers) > 0 && pod.Containers[0].Image == p.name
}

// byWire is one whose servers are not asked by HTTP.
type byWire struct{ product }

func (b byWire) External() engine.Engine { return b }

func (byWire) ExternalUser() string { return "dba" }

func (byWire) ProbeTLS(context.Context, net.Conn) (bool, error) { return false, nil }

// TestChoose: the pods say which product it is, unless a person does.
func TestChoose(t *testing.T) {
	t.Parallel()
	a, b, mute := product{name: "a"}, byWire{product{name: "b"}}, opstest.Stub{}
	pods := func(images ...string) (out []external.Pod) {
		for _, image := range images {
			out = append(out, external.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}})
		}
		return out
	}
	for name, c := range map[string]struct {
		named     engine.Engine
		pods      []external.Pod
		endpoints []string
		want      string
		fails     string
	}{
		"the pods show it":         {pods: pods("other", "b"), want: "b"},
		"a person says it":         {named: a, pods: pods("b"), want: "a"},
		"nothing is like any":      {pods: pods("other"), fails: "no pods that resemble a or b"},
		"pods of both":             {pods: pods("a", "b"), fails: "it is not clear which"},
		"pods that are named":      {pods: pods("other"), endpoints: []string{"x:1"}, fails: "it is not clear which"},
		"URLs":                     {endpoints: []string{"https://x:1"}, want: "a"},
		"one that can't recognize": {named: mute, pods: pods("a"), fails: "can't be inspected"},
	} {
		o := &Cluster{Config: Config{Engine: c.named, Engines: []engine.Engine{mute, a, b}, Endpoints: c.endpoints},
			found: external.Cluster{Found: "selector x", Pods: c.pods}}
		err := o.choose()
		switch {
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		case c.fails == "" && (err != nil || o.Engine.Name() != c.want || o.recognizer == nil):
			t.Errorf("%s: %v, %v, want %s", name, err, o.Engine, c.want)
		}
	}
}
