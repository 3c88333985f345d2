package simulation

import (
	"fmt"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// facts lists a cluster's Kubernetes objects.
func (w *world) facts(cluster string) observe.Facts {
	o := w.shared(cluster)
	f := observe.Facts{Certificates: o.certificates, Services: o.services}
	if o.budget != nil {
		b := *o.budget
		f.Budget = &b
	}
	for _, s := range w.slots {
		if s.cluster != cluster || (s.volume == nil && s.workload == nil && s.pod == nil) {
			continue
		}
		f.Members = append(f.Members, w.member(s))
	}
	return f
}

func (w *world) member(s *slot) observe.Member {
	m := observe.Member{Name: s.name}
	if v := s.volume; v != nil {
		m.Volume = observe.Volume{Exists: true, Bound: !w.now.Before(v.boundAt), Terminating: v.deleting, Token: v.token,
			Size: v.size, Capacity: v.capacity}
	}
	if l := s.workload; l != nil {
		m.Workload = observe.Workload{Exists: true, Terminating: l.deleting, Bootstrap: l.bootstrap, Version: l.version,
			Settings: l.settings, Token: l.token, JoinLimit: l.joinLimit()}
	}
	if p := s.pod; p != nil {
		m.Pod = observe.Pod{Exists: true, Running: p.process != nil, Ready: p.process != nil && !p.process.hung &&
			!w.now.Before(p.readySoon), Terminating: p.deleting,
			UID: strconv.Itoa(p.uid), Version: p.template.version, Settings: p.template.settings, Restarts: p.restarts,
			Created: p.created, JoinLimit: p.template.joinLimit()}
		if p.process != nil {
			m.Pod.Started = p.process.began
		}
		if p.problem != nil && !p.deleting {
			problem := *p.problem
			m.Pod.Problem = &problem
		}
	}
	return m
}

// status is what one member says when it is asked alone.
func (w *world) status(name string) engine.Member {
	s := w.find(name)
	m := engine.Member{Name: name, Role: engine.RoleUnknown}
	if !w.runs(s) {
		m.Problem = "it does not answer"
		return m
	}
	d := s.pod.process.data
	m.Version = s.pod.template.version
	if d.group == nil {
		m.Problem = "it has not started to serve"
		return m
	}
	g := d.group
	m.Reachable, m.ID, m.ClusterID, m.Role = true, d.id, g.clusterID, engine.RoleFollower
	m.Auth = engine.AuthOff
	if g.access.on {
		m.Auth = engine.AuthOn
	}
	m.Protocol = spoken(g.minor)
	if minor(m.Version) >= firstSchema {
		m.Schema = spoken(d.schema)
	}
	m.Position = engine.Position(fmt.Sprintf("%s/%d/%d/%d", g.clusterID, 1, d.index, d.index))
	g.crowded(&m, d)
	e := g.entry(d.id)
	if g.agreement != nil {
		w.said(s, &m)
		return m
	}
	if e != nil && !e.voter {
		m.Role = engine.RoleLearner
	}
	leader := w.leads(g)
	if leader == nil || !w.meets(s) || e == nil {
		return m
	}
	m.Leader = leader.pod.process.data.id
	if leader == s {
		m.Role = engine.RoleLeader
	}
	m.Serving = e.voter
	return m
}

// memberList is the member list, if a majority is behind it and a named member relays it.
func (w *world) memberList(names []string) ([]engine.Registered, bool) {
	for _, name := range names {
		s := w.find(name)
		if !w.meets(s) || s.pod.process.data.group == nil {
			continue
		}
		g := s.pod.process.data.group
		if g.agreement != nil {
			if !w.agrees(g) || g.entry(s.pod.process.data.id) == nil {
				continue
			}
		} else if e := g.entry(s.pod.process.data.id); w.leads(g) == nil || e == nil || !e.voter {
			continue
		}
		var out []engine.Registered
		for _, e := range g.members {
			out = append(out, engine.Registered{ID: e.id, Name: e.name, Voter: e.voter, Started: e.started, Address: e.name,
				Witness: e.witness, Spare: e.whole && !e.voter})
		}
		return out, true
	}
	return nil, false
}
