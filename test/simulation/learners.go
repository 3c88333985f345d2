package simulation

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// limitSince is the first minor that can be told how many learners a cluster may have.
const limitSince = 6

// tooManyLearners is etcd's own word.
const tooManyLearners = "too many learner members in cluster"

// joinLimit is what an engine reads from the template.
func (t memberWorkload) joinLimit() int {
	if minor(t.version) < limitSince {
		return 0
	}
	return max(t.limit, 1)
}

// learners is the limit that a member holds a change of the member list to.
func (t memberWorkload) learners() int { return max(t.joinLimit(), 1) }

func (g *group) learners() int { return len(g.members) - g.voters() }

// oneMoreLearner is what each member checks when it applies the change, with the limit of its own: the leader's answer
// is what the client sees, and a member that comes to another one has another member list from then on.
func (w *world) oneMoreLearner(g *group, leader *slot) error {
	allows := func(s *slot) bool { return g.learners() < s.pod.template.learners() }
	lead := allows(leader)
	for _, s := range w.slots {
		if s.pod == nil || s.pod.process == nil || s.pod.process.data.group != g {
			continue
		}
		if allows(s) != lead {
			w.violate("%s and %s differ on whether one more learner is too many: they have different member lists now",
				leader.name, s.name)
		}
	}
	if !lead {
		return &engine.Refusal{Check: "too-many-learners", Reason: tooManyLearners}
	}
	g.widest = max(g.widest, g.learners()+1)
	return nil
}
