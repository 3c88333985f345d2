package protocol

import "testing"

// following is a document whose primary m1 serves, and follows a source.
func following(t *testing.T) *Document {
	t.Helper()
	d := serving(t, Async)
	d.Source = &Source{Address: "there:6379"}
	for id, m := range d.Members {
		m.Level = highestLevel
		d.Members[id] = m
	}
	return d
}

func TestEndSource(t *testing.T) {
	t.Parallel()
	refused(t, serving(t, Async), "nothing is followed", &EndSource{Address: "there:6379"})
	d := following(t)
	refused(t, d, "another source", &EndSource{Address: "elsewhere:6379"})
	refused(t, d, "the primary of another generation", &EndSource{Address: "there:6379", Generation: d.Generation + 1})
	agree(t, following(t), &EndSource{Address: "there:6379"}) // as an older agent wrote it
	agree(t, d, &EndSource{Address: "there:6379", Generation: d.Generation})
	if d.Source != nil {
		t.Error("the source is followed still")
	}
	d = following(t)
	agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber})
	refused(t, d, "there is no primary", &EndSource{Address: "there:6379"})
	founded := &Document{}
	agree(t, founded, &Found{Token: "token", InitialMembers: []InitialMember{{ID: "m1"}}, Settings: d.Settings,
		Source: &Source{Address: "there:6379", TLS: true}})
	if founded.Source == nil || !founded.Source.TLS {
		t.Errorf("a group is founded with the source %+v", founded.Source)
	}
}

// TestFollowsSource: a primary that follows copies all data again when it has to, whatever that takes, and ends to
// follow once that is agreed.
func TestFollowsSource(t *testing.T) {
	t.Parallel()
	promoted := func(d *Document, server Server) *Node {
		n := start(d, "m1", 1, 0)
		n.lease.generation, n.lease.deadline, n.lease.promoted, n.lease.next = 1, 100*second, 1, 100*second
		server.System, server.Volume, server.Settings = "system", "v1", d.Settings.Version
		server.Generation, server.Flushed = 1, 0
		n.Step(0, Observed{Server: server})
		return n
	}
	for name, c := range map[string]struct {
		followed bool
		server   Server
		want     JobKind
	}{
		"it follows":                     {true, Server{Role: Primary, Following: true}, ""},
		"the source has other data":      {true, Server{Role: Primary, Following: true, Behind: true}, Copy},
		"it is agreed to follow no more": {false, Server{Role: Primary, Following: true}, Detach},
		"and that comes before a copy":   {false, Server{Role: Primary, Following: true, Behind: true}, Detach},
		"it takes writes":                {false, Server{Role: Primary}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := following(t)
			if !c.followed {
				agree(t, d, &EndSource{Address: "there:6379"})
			}
			n := promoted(d, c.server)
			if n.job.Kind == Load {
				n.server.Set = d.Set().Version
				n.Step(0, Done{Job: n.job})
			}
			if kind := n.job.Kind; kind != c.want && (c.want != "" || kind == Copy || kind == Detach) {
				t.Errorf("it does %q, want %q", kind, c.want)
			}
			if c.want != "" && n.job.Source != d.Source {
				t.Errorf("the job names the source %+v", n.job.Source)
			}
		})
	}
	n := promoted(following(t), Server{Role: Primary, Following: true, Behind: true})
	n.Step(second, Observed{Server: Server{System: "system", Volume: "v1", Role: Replica}})
	n.lease.next, n.lease.deadline = 0, 200*second
	if _, renews := proposed[*Renew](n.Step(90*second, Tick{})); !renews {
		t.Error("a copy that takes long ends the lease")
	}
	n.lease.armed = true
	if _, disarms := find[Disarm](n.Step(91*second, Observed{Server: Server{System: "system", Volume: "v1"}})); disarms {
		t.Error("the guard has no deadline for the server that a copy starts")
	}
}

func TestLacksCopies(t *testing.T) {
	t.Parallel()
	d := following(t)
	d.Settings.Durability, d.Settings.Acknowledge = Preferred, 1
	n := start(d, "m1", 1, 0)
	if n.LacksCopies() == "" {
		t.Error("no member copies the primary, and none is missed")
	}
	n.Step(0, Observed{Server: Server{Standbys: []Streaming{{Standby: Standby{Member: "m2", Volume: "v2"}}}}})
	if got := n.LacksCopies(); got != "" {
		t.Error(got)
	}
}
