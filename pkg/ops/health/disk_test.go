package health

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestDisk: what fills up is told, with what makes room, before anything that follows from it.
func TestDisk(t *testing.T) {
	const resize = "kubectl dbop resize db --storage SIZE"
	full := engine.Disk{Used: 236 << 20, Total: 236 << 20}
	for _, test := range []struct {
		name     string
		disk     engine.Disk
		change   func(*ops.State)
		problem  string // the first one
		next     string // the first one, too
		severity ops.Severity
		remedy   string
	}{
		{name: "half of it", disk: engine.Disk{Used: 118 << 20, Total: 236 << 20}, severity: ops.OK},
		{name: "nearly full", disk: engine.Disk{Used: 204 << 20, Total: 236 << 20}, severity: ops.Warn,
			problem: "the disk of db-2 is 86% full (204 of 236 MiB)", next: resize, remedy: resize},
		{name: "full", disk: full, severity: ops.Fail, problem: "the disk of db-2 is 100% full (236 of 236 MiB)",
			next: resize, remedy: resize},
		{name: "full, and its pod crashes", disk: full, severity: ops.Fail, change: func(s *ops.State) {
			s.Kube.Members[1].Pod.Problem = &observe.Problem{Kind: observe.ProblemCrashing, Message: "exit 1"}
		}, problem: "the disk of db-2 is 100% full (236 of 236 MiB)", next: resize, remedy: resize},
		{name: "the disk of the node", disk: engine.Disk{Used: 90 << 30, Total: 100 << 30}, severity: ops.Warn,
			change:  func(s *ops.State) { s.Kube.Members[1].Pod.Node = "n2" },
			problem: "the disk of db-2 is 90% full (92160 of 102400 MiB), which others on its node fill, too",
			remedy:  "make room on node n2"},
		{name: "an agent that does not tell", change: func(s *ops.State) { s.View.Members[1].DataBytes = 230 << 20 },
			severity: ops.Warn, problem: "the database of db-2 fills 89% of its volume", remedy: "grow the volume"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := soundState()
			s.Kube.Members[1].Volume.Capacity = resource.MustParse("256Mi")
			s.View.Members[1].Disk = test.disk
			if test.change != nil {
				test.change(&s)
			}
			v, e := Assess(quorate{}, s, verbs), quorate{}
			if test.problem == "" && len(v.Problems) > 0 ||
				test.problem != "" && (len(v.Problems) == 0 || !strings.HasPrefix(v.Problems[0], test.problem)) {
				t.Errorf("problems %q, want %q first", v.Problems, test.problem)
			}
			if test.problem != "" && v.Level != Degraded {
				t.Errorf("it is %s", v.Level)
			}
			if test.next != "" && (len(v.Next) == 0 || v.Next[0] != test.next) ||
				test.next == "" && slices.Contains(v.Next, resize) {
				t.Errorf("next %q, want %q first", v.Next, test.next)
			}
			d := Examination{e: e, S: s, verbs: verbs, name: "db"}
			d.space()
			f := d.Findings[0]
			if f.Severity != test.severity || !strings.Contains(strings.Join(f.Remedy, "\n"), test.remedy) {
				t.Errorf("%+v, want %s with %q", f, test.severity, test.remedy)
			}
		})
	}
}
