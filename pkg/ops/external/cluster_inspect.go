package external

import (
	"context"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Inspection is all that an observation of an external cluster shows. It holds no secret.
type Inspection struct {
	Engine    string `json:"engine"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Found says where the members were found, Guesses what nobody told and
	// how it is known.
	Found   string   `json:"found"`
	Guesses []string `json:"guesses,omitempty"`
	TLS     bool     `json:"tls"`
	// Auth is "on", "off", or "" where it is not known.
	Auth       string            `json:"auth,omitempty"`
	Quorum     bool              `json:"quorum"`
	ClusterIDs []string          `json:"clusterIDs,omitempty"`
	Members    []InspectedMember `json:"members"`
	// MemberConfigs are what the pods' own specs tell.
	MemberConfigs []engine.MemberConfig `json:"traces,omitempty"`
	Findings      []ops.Finding         `json:"findings"`
}

// InspectedMember is a member by its own word, and where it runs.
type InspectedMember struct {
	engine.Member `json:",inline"`

	// Pod and Node are "" where it is not known; Voter is of the member list.
	Pod   string `json:"pod,omitempty"`
	Node  string `json:"node,omitempty"`
	Voter bool   `json:"voter"`
	// Progress takes the position apart.
	Progress []engine.Reading `json:"progress,omitempty"`
}

// Inspect asks every member by itself and judges what it sees.
func (o *Cluster) Inspect(ctx context.Context) Inspection {
	v, names := o.look(ctx)
	in := Inspection{Engine: o.Engine.Name(), Namespace: o.Namespace, Name: o.Title(), Found: o.found.Found,
		Guesses: o.guesses,
		TLS:     o.secure, Auth: v.Auth(), Quorum: v.Quorum, ClusterIDs: v.ClusterIDs}
	s := inspection{engine: o.Engine, recognizer: o.recognizer, view: v, outside: o.found, login: o.UserSecret != "",
		pods: map[string]external.Pod{}}
	for _, m := range o.members {
		name := names[m.name]
		member := InspectedMember{Member: v.Member(name), Pod: m.pod.Name, Node: m.pod.Node,
			Progress: o.Engine.Readings(v.Member(name).Position)}
		if r, ok := v.Registered(name); ok {
			member.Voter = r.Voter
		}
		in.Members = append(in.Members, member)
		s.pods[name] = m.pod
		if m.trace.Container != "" {
			m.trace.Member = name
			m.trace.TLS = o.secure
			s.traces = append(s.traces, m.trace)
		}
	}
	for _, r := range v.MemberList {
		if _, asked := s.pods[r.Name]; !asked {
			in.Members = append(in.Members, InspectedMember{Member: engine.Member{Name: r.Name, ID: r.ID,
				Role: engine.RoleUnknown, Problem: "no pod of it was found"}, Voter: r.Voter})
		}
	}
	in.MemberConfigs, in.Findings = s.traces, s.judge()
	return in
}

// outsideLooks is how often members are asked before one counts as unreachable. The
// first time tunnels are opened and logins made, for which a busy machine may
// take longer than an observation waits.
const outsideLooks = 3

// observe observes; it returns the view by the database's own names, and those by pod.
func (o *Cluster) look(ctx context.Context) (engine.View, map[string]string) {
	var ask []string
	for _, m := range o.running() {
		ask = append(ask, m.name)
	}
	v := o.session.Observe(ctx, ask)
	for range outsideLooks - 1 {
		if ctx.Err() != nil || !slices.ContainsFunc(v.Members, func(m engine.Member) bool { return !m.Reachable }) {
			break
		}
		v = o.session.Observe(ctx, ask)
	}
	names := align(&v)
	for _, m := range o.members {
		if _, asked := names[m.name]; !asked {
			names[m.name] = m.name
			v.Members = append(v.Members, engine.Member{Name: m.name, Role: engine.RoleUnknown,
				Problem: ops.Silence(observe.Member{Pod: m.pod.Pod, Volume: observe.Volume{Exists: true}})})
		}
	}
	return v, names
}

// align gives members the names that they are registered with: a pod need not
// be called like its member. The identity tells who is who.
func align(v *engine.View) map[string]string {
	names := map[string]string{}
	for i := range v.Members {
		m := &v.Members[i]
		pod := m.Name
		for _, r := range v.MemberList {
			if m.ID != "" && r.ID == m.ID && r.Started {
				m.Name = r.Name
			}
		}
		names[pod] = m.Name
	}
	return names
}

// inspection is what judge judges. It is plain data.
type inspection struct {
	engine     engine.Engine
	recognizer engine.Recognizer
	view       engine.View
	outside    external.Cluster
	// pods by the member's name.
	pods   map[string]external.Pod
	traces []engine.MemberConfig
	// login is true if credentials were given.
	login bool
	all   []ops.Finding
}

func (s *inspection) add(f ops.Finding) { s.all = append(s.all, f) }

// judge is pure.
func (s *inspection) judge() []ops.Finding {
	s.identity()
	s.quorum()
	s.members()
	s.size()
	s.disruption()
	s.spread()
	s.volumes()
	for _, r := range s.recognizer.AssessRisks(s.traces, s.view) {
		f := ops.Finding{Severity: ops.Warn, Subject: r.Subject, What: r.What, Evidence: r.Evidence, Remedy: r.Remedy}
		if r.Severe {
			f.Severity = ops.Fail
		}
		s.add(f)
	}
	return s.all
}

func (s *inspection) identity() {
	switch ids := s.view.ClusterIDs; len(ids) {
	case 0:
		s.add(ops.Finding{Severity: ops.Warn, Subject: "identity", What: "no member told its cluster ID"})
	case 1:
		s.add(ops.Finding{Severity: ops.OK, Subject: "identity", What: "all that answer belong to one cluster, " + ids[0]})
	default:
		s.add(ops.Finding{Severity: ops.Fail, Subject: "identity",
			What: fmt.Sprintf("split: the members belong to %d different clusters", len(ids)), Evidence: ids,
			Remedy: []string{"inspect each by itself with --endpoints; each may hold writes that the others lack"}})
	}
}

func (s *inspection) quorum() {
	if !s.engine.Capabilities().Quorum {
		return
	}
	if !s.view.Quorum {
		s.add(ops.Finding{Severity: ops.Fail, Subject: "quorum", What: "no member got the consent of a majority"})
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: "quorum",
		What: fmt.Sprintf("a majority agrees, and of %d voters %d more may fail", len(s.view.Voters()),
			max(0, s.engine.Tolerates(s.view)))}
	if s.engine.Tolerates(s.view) < 1 && len(s.view.Voters()) > 2 {
		f.Severity = ops.Warn
	}
	s.add(f)
}

// members asks the engine about each that was found or is registered.
func (s *inspection) members() {
	var names []string
	for _, m := range s.view.Members {
		names = append(names, m.Name)
	}
	for _, r := range s.view.MemberList {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	well := 0
	for _, name := range names {
		err := s.engine.Health(s.view, name)
		if err == nil {
			well++
			continue
		}
		f := ops.Finding{Severity: ops.Fail, Subject: "member " + name, What: err.Error()}
		if m := s.view.Member(name); m.Auth == engine.AuthOn && !s.login {
			f.Remedy = []string{"name a user of the database with --user-secret"}
		}
		s.add(f)
	}
	if well == len(names) {
		s.add(ops.Finding{Severity: ops.OK, Subject: "members", What: fmt.Sprintf("all %d are healthy", well)})
	}
}

func (s *inspection) size() {
	remedy := "restore a backup into a cluster of three"
	if s.engine.Capabilities().Source {
		remedy = follow(s.engine.Name())
	}
	switch n := len(s.view.Voters()); {
	case n == 1:
		s.add(ops.Finding{Severity: ops.Warn, Subject: "size",
			What: "there is one member: its loss is the loss of the database", Remedy: []string{remedy}})
	case n > 1 && n%2 == 0 && s.engine.Capabilities().OddMembers:
		s.add(ops.Finding{Severity: ops.Warn, Subject: "size",
			What: fmt.Sprintf("%d voters tolerate no more failures than %d, and one more can fail", n, n-1)})
	}
}

// follow is how a database comes into a cluster of this tool where a cluster can follow it.
func follow(product string) string {
	return "have a cluster follow it until a cut over: kubectl dbop create NAME --engine " + product +
		" --from-primary HOST:PORT --from-secret SECRET"
}
