package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// quorate is an engine whose members are healthy when they answer.
type quorate struct{ engine.Engine }

func (quorate) Capabilities() engine.Capabilities { return engine.Capabilities{Quorum: true} }

func (quorate) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 0 }

func (quorate) Health(v engine.View, name string) error {
	if !v.Member(name).Reachable {
		return fmt.Errorf("%s does not answer", name)
	}
	return nil
}

func (quorate) Tolerates(v engine.View) int {
	voters, well := len(v.Voters()), 0
	for _, m := range v.Members {
		if m.Reachable {
			well++
		}
	}
	return well - (voters/2 + 1)
}

// wellState is a formed cluster of three with a verified backup.
func wellState() ops.State {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = "db", "shop"
	c.Spec.Members = 3
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", ClusterID: "c1"}
	c.Status.LastBackup = &v1alpha1.BackupReference{ID: "db-x", Time: metav1.NewTime(time.Unix(0, 0))}
	c.Status.LastVerifiedBackup = c.Status.LastBackup
	s := ops.State{Cluster: c}
	s.View.Quorum, s.View.ClusterIDs = true, []string{"c1"}
	for n := 1; n <= 3; n++ {
		name := v1alpha1.MemberName("db", n)
		role := engine.RoleFollower
		if n == 1 {
			role = engine.RoleLeader
		}
		s.View.Members = append(s.View.Members, engine.Member{Name: name, Reachable: true, Role: role, DataBytes: 1 << 20})
		s.View.MemberList = append(s.View.MemberList, engine.Registered{Name: name, Voter: true, Started: true})
		s.Kube.Members = append(s.Kube.Members, observe.Member{Name: name,
			Workload: observe.Workload{Exists: true, Token: "t"},
			Volume:   observe.Volume{Exists: true, Token: "t", Capacity: resource.MustParse("1Gi")}})
	}
	return s
}

func TestAssess(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*ops.State)
		level    Level
		headline string
		problem  string
		next     string
	}{
		{name: "well", change: func(*ops.State) {}, level: Healthy,
			headline: "all 3 members are healthy, 1 more failure is tolerated"},
		{name: "it follows a source", change: func(s *ops.State) {
			s.View.Source = &engine.Source{Address: "there:1", Following: true, Linked: true}
		}, level: Healthy, headline: "1 more failure is tolerated; it takes no writes, as it follows there:1",
			next: "kubectl dbop plan cutover db"},
		{name: "a source does not answer", change: func(s *ops.State) {
			s.View.Source = &engine.Source{Address: "there:1", Following: true, Silent: 9 * time.Second}
		}, level: Degraded, headline: "3 of 3 members are healthy, 1 more failure is tolerated",
			problem: "follows there:1, and its connection is broken for 9s"},
		{name: "no cluster", change: func(s *ops.State) { s.Cluster = nil }, level: Down, headline: "no such cluster"},
		{name: "one member down", change: func(s *ops.State) { s.View.Members[2].Reachable = false },
			level: Degraded, headline: "2 of 3 members are healthy, no further failure is tolerated",
			problem: "db-3 does not answer", next: "kubectl dbop logs db"},
		{name: "a member answers from a silent node", change: func(s *ops.State) {
			s.Kube.Members[2].Pod = observe.Pod{Node: "n3", Problem: &observe.Problem{Kind: observe.ProblemNode,
				Message: "n3 is not ready"}}
		}, level: Degraded, headline: "3 of 3 members are healthy, 1 more failure is tolerated", problem: "n3 is not ready",
			next: "kubectl describe node n3"},
		{name: "a member is silent with its node", change: func(s *ops.State) {
			s.View.Members[2].Reachable = false
			s.Kube.Members[2].Pod = observe.Pod{Node: "n3", Problem: &observe.Problem{Kind: observe.ProblemNode,
				Message: "n3 is not ready"}}
		}, level: Degraded, headline: "2 of 3 members are healthy, no further failure is tolerated",
			problem: "n3 is not ready", next: "kubectl dbop logs db"},
		{name: "no quorum", change: func(s *ops.State) {
			s.View.Quorum, s.View.MemberList = false, nil
			s.View.Members[1].Reachable, s.View.Members[2].Reachable = false, false
		}, level: Down, headline: "does not serve: 1 of 3", next: "kubectl dbop logs db"},
		{name: "not formed", change: func(s *ops.State) { s.Cluster.Status.Bootstrap.ClusterID = "" }, level: Down,
			headline: "has not formed yet", next: "kubectl dbop diagnose db"},
		{name: "not formed, creation in flight", change: func(s *ops.State) {
			s.Cluster.Status.Bootstrap.ClusterID = ""
			s.Operation = &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate}}
		}, level: Down, headline: "has not formed yet", next: "kubectl dbop resume db"},
		{name: "formed, and its creation was lost before the users", change: func(s *ops.State) {
			s.Cluster.Spec.Auth.Enabled, s.Cluster.Status.Bootstrap.Unfinished = true, true
			s.Cluster.Spec.InitialSQL = &v1alpha1.InitialSQL{Secret: "schema"}
		}, level: Degraded, headline: "3 of 3 members are healthy",
			problem: "the creation of db was not finished, and its users and its initial SQL may be missing"},
		{name: "the same under a custom resource", change: func(s *ops.State) {
			s.Cluster.Spec.Auth.Enabled, s.Cluster.Status.Bootstrap.Unfinished = true, true
			s.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
		}, level: Degraded, headline: "3 of 3 members are healthy",
			problem: "the creation of db was not finished, and its users may be missing: the operator makes them"},
		{name: "formed, and its creation goes on", change: func(s *ops.State) {
			s.Cluster.Spec.Auth.Enabled, s.Cluster.Status.Bootstrap.Unfinished = true, true
			s.Operation = &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate}}
		}, level: Healthy, headline: "all 3 members are healthy", next: "kubectl dbop resume db"},
		{name: "nothing exists yet", change: func(s *ops.State) {
			s.Cluster.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1", "db-2", "db-3"}}
			s.Kube, s.View = observe.Facts{}, engine.View{}
		}, level: Down, headline: "0 of 3 members are up"},
		{name: "split", change: func(s *ops.State) { s.View.ClusterIDs = []string{"c1", "c2"} }, level: Down,
			headline: "do not form one cluster", problem: "c1, c2"},
		{name: "two that lead", change: func(s *ops.State) {
			s.View.Members[0].Serving, s.View.Members[1].Serving, s.View.Members[1].Role = true, true, engine.RoleLeader
		}, level: Down, headline: "do not form one cluster", problem: "db-1 and db-2 both lead"},
		{name: "one that leads and does not serve", change: func(s *ops.State) {
			s.View.Members[0].Serving,
				s.View.Members[1].Role = true, engine.RoleLeader
		},
			level: Healthy, headline: "all 3 members are healthy"},
		{name: "another identity", change: func(s *ops.State) { s.View.ClusterIDs = []string{"c9"} }, level: Down,
			headline: "do not form one cluster", problem: "cluster ID c9, but c1 was recorded"},
		{name: "foreign objects", change: func(s *ops.State) { s.Kube.Foreign = []string{"service/db"} }, level: Degraded,
			headline: "3 of 3", problem: "service/db"},
		{name: "pod problem", change: func(s *ops.State) {
			s.Kube.Members[1].Pod.Exists = true
			s.Kube.Members[1].Pod.Problem = &observe.Problem{Kind: observe.ProblemImage, Message: "no such image"}
		}, level: Degraded, headline: "2 of 3", problem: "db-2: ImagePull: no such image",
			next: "kubectl describe pod db-2-0"},
		{name: "no pod to describe", change: func(s *ops.State) {
			s.Kube.Members[1].Pod, s.View.Members[1] = observe.Pod{}, engine.Member{Name: "db-2", Problem: "silent"}
		}, level: Degraded, headline: "2 of 3", next: "kubectl describe statefulset db-2"},
		{name: "down", change: func(s *ops.State) { s.View.Quorum = false }, level: Down, headline: "does not serve",
			next: "kubectl dbop diagnose db\nkubectl dbop recover db"},
		{name: "volume gone", change: func(s *ops.State) {
			s.Kube.Members[1].Volume = observe.Volume{}
			s.Kube.Members[1].Pod.Problem = &observe.Problem{Kind: observe.ProblemUnschedulable, Message: "claim not found"}
		}, level: Degraded, headline: "2 of 3", problem: "db-2: its volume is gone",
			next: "kubectl dbop member replace db db-2"},
		{name: "alarm against nobody", change: func(s *ops.State) { opstest.Alarm(s, "CORRUPT", engine.CauseDamage, "") },
			level: Degraded, headline: "3 of 3", problem: "CORRUPT is raised for no member in particular"},
		{name: "alarm", change: func(s *ops.State) { s.View.Members[0].Alarms = []string{"NOSPACE"} }, level: Degraded,
			headline: "3 of 3", problem: "db-1 raises NOSPACE"},
		{name: "quota", change: func(s *ops.State) { s.View.Members[0].DataBytes, s.View.Members[0].QuotaBytes = 90, 100 },
			level: Degraded, headline: "3 of 3", problem: "at 90% of its quota"},
		{name: "volume", change: func(s *ops.State) { s.View.Members[0].DataBytes = 1 << 30 }, level: Degraded,
			headline: "3 of 3", problem: "fills 100% of its volume"},
		{name: "too few", change: func(s *ops.State) { s.Cluster.Spec.Members = 5 }, level: Degraded, headline: "3 of 3",
			problem: "3 members vote, 5 are wanted", next: "kubectl dbop scale db --members 5"},
		{name: "too few, being worked on", change: func(s *ops.State) {
			s.Cluster.Spec.Members = 5
			s.Operation = &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbScale}}
		}, level: Healthy, headline: "all 3", next: "kubectl dbop cancel db"},
		{name: "no backup", change: func(s *ops.State) {
			s.Cluster.Status.LastBackup,
				s.Cluster.Status.LastVerifiedBackup = nil, nil
		},
			level: Healthy, headline: "all 3", next: "kubectl dbop backup db --verify"},
		{name: "a proof that failed", change: func(s *ops.State) {
			s.Cluster.Status.FailedProof = &v1alpha1.FailedProof{ID: "db-x", Repository: "offsite", Level: "intact",
				Reason: "a byte is wrong"}
		}, level: Degraded, headline: "all 3", problem: "backup db-x in offsite was verified at 0001-01-01 00:00:00 UTC, " +
			"and is not intact: a byte is wrong", next: "kubectl dbop backup db --verify"},
		{name: "no verified backup", change: func(s *ops.State) { s.Cluster.Status.LastVerifiedBackup = nil },
			level:    Healthy,
			headline: "all 3", next: "kubectl dbop backup verify db-x"},
		{name: "no verified backup, of another repository", change: func(s *ops.State) {
			s.Cluster.Status.LastVerifiedBackup = nil
			s.Cluster.Spec.Backup.Repository, s.Cluster.Status.LastBackup.Repository = "offsite", "other"
		}, level: Healthy, headline: "all 3", next: "kubectl dbop backup verify db-x --repository other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wellState()
			test.change(&s)
			v := Assess(quorate{}, s, verbs)
			if v.Level != test.level || !strings.Contains(v.Headline, test.headline) {
				t.Errorf("%s: %s, want %s: %s", v.Level, v.Headline, test.level, test.headline)
			}
			if test.problem != "" && !strings.Contains(strings.Join(v.Problems, "\n"), test.problem) {
				t.Errorf("problems %q, want %q", v.Problems, test.problem)
			}
			if test.next != "" && !strings.Contains(strings.Join(v.Next, "\n"), test.next) {
				t.Errorf("next %q, want %q", v.Next, test.next)
			}
			if v.Level == Healthy && len(v.Problems) > 0 {
				t.Errorf("healthy with problems %q", v.Problems)
			}
		})
	}
}
