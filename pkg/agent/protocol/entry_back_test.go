package protocol

import "testing"

func TestBeginSource(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	begin := func(generation Generation) *BeginSource {
		return &BeginSource{Source: Source{Address: "there:5432", TLS: true}, Generation: generation}
	}
	refused(t, d, "the primary of another generation", begin(d.Generation+1))
	refused(t, d, "an empty address", &BeginSource{Generation: d.Generation})
	refused(t, following(t), "another source", begin(d.Generation))
	agree(t, d, begin(d.Generation))
	if want := (Source{Address: "there:5432", TLS: true, Kept: true}); d.Source == nil || *d.Source != want {
		t.Errorf("it follows %+v, want %+v", d.Source, want)
	}
	refused(t, d, "it follows already", begin(d.Generation))
	agree(t, d, &EndSource{Address: "there:5432", Generation: d.Generation})
	agree(t, d, begin(d.Generation))
	d = serving(t, Async)
	agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber})
	refused(t, d, "there is no primary", begin(d.Generation))
}

// TestBeginsSource: a primary that let clients in stops, and gives its lease up, before the cluster follows. One that
// is being promoted for that goes on.
func TestBeginsSource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kept, following, busy bool
		want                  JobKind
	}{
		"clients were let in":    {kept: true, want: StopFast},
		"it follows":             {kept: true, following: true},
		"something is under way": {kept: true, busy: true},
		"its data is a copy":     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := following(t)
			d.Source.Kept = c.kept
			n := start(d, "m1", 1, 0)
			n.lease.generation, n.lease.deadline, n.lease.promoted, n.lease.next = 1, 100*second, 1, 100*second
			if c.busy {
				n.job = Job{Kind: Promote}
			}
			server := Server{Role: Primary, System: "system", Volume: "v1", Settings: d.Settings.Version, Generation: 1,
				Following: c.following, Set: d.Set().Version}
			n.Step(0, Observed{Server: server})
			if got := n.job.Kind; (got == StopFast) != (c.want == StopFast) {
				t.Errorf("it does %q, want %q", got, c.want)
			}
			if c.want != StopFast {
				return
			}
			server.Role, server.Position = Stopped, Position{Timeline: 1, Offset: 7}
			n.Step(0, Observed{Server: server})
			n.Step(0, Done{Job: n.job})
			n.Step(0, Done{Job: n.job}) // nothing of the server is left
			release, given := proposed[*Release](n.Step(0, Tick{}))
			if n.lease.released != 1 {
				t.Errorf("the lease is kept: %+v, %t", release, given)
			}
		})
	}
}
