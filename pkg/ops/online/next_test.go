package online

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// followed is an engine whose clusters can be followed once an option is set.
type followed struct{ opstest.Stub }

func (followed) FollowedSettings(spec v1alpha1.DatabaseClusterSpec) map[string]string {
	if spec.Config["log"] == "all" {
		return nil
	}
	return map[string]string{"log": "all"}
}

// pair are a former cluster that can be followed and its copy, which follows; changed as a test wants it.
func pair(changes ...func(*Pair)) Pair {
	p := Pair{Engine: followed{}, Former: opstest.Well(3), Next: opstest.Well(3), Name: "next", Version: "2.0.0"}
	p.Former.Cluster.Spec.Config = map[string]string{"log": "all"}
	p.Next.Cluster.Name = "next"
	p.Next.Cluster.Spec.Version = "2.0.0"
	p.Next.Cluster.Spec.Source = &v1alpha1.Source{Cluster: p.Former.Cluster.Name}
	p.Next.View.Source = &engine.Source{Following: true, Linked: true}
	for _, change := range changes {
		change(&p)
	}
	return p
}

// The changes.
func unmade(p *Pair)     { p.Next = ops.State{} }
func unprepared(p *Pair) { p.Former.Cluster.Spec.Config = nil }
func forming(p *Pair)    { p.Next.Cluster.Status.Bootstrap = nil }
func over(p *Pair)       { p.Next.View.Source = nil }
func direct(p *Pair)     { p.Former.Cluster.Spec.Routing = v1alpha1.RoutingDirect }
func plain(p *Pair)      { p.Engine = opstest.Stub{} }
func unrelated(p *Pair)  { p.Next.Cluster.Spec.Source = nil }
func older(p *Pair)      { p.Next.Cluster.Spec.Version = "1.0.0" }
func stopped(p *Pair)    { p.Former.Cluster.Spec.Stopped = true }
func follows(p *Pair)    { p.Former.View.Source = &engine.Source{Following: true} }
func copies(p *Pair)     { p.Former.View.Source = &engine.Source{} }
func managed(p *Pair)    { manage(p.Former.Cluster) }
func adopted(p *Pair)    { manage(p.Next.Cluster) }
func asked(p *Pair)      { p.Former.Cluster.Spec.RedirectTo = "next" }
func manage(c *v1alpha1.DatabaseCluster) {
	c.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid-" + c.Name}
}
func sent(p *Pair) {
	asked(p)
	p.Former.Kube.SentTo = "next"
}
func lost(p *Pair) {
	for i := range p.Former.View.Members {
		p.Former.View.Members[i].Reachable = false
	}
}
func closed(p *Pair) {
	for i := range p.Former.View.Members {
		p.Former.View.Members[i].Closed = []string{"app"}
	}
}

// doing has an operation in flight at one of the two.
func doing(at func(*Pair) *ops.State, verb v1alpha1.Verb, change func(*v1alpha1.OperationSpec)) func(*Pair) {
	return func(p *Pair) {
		o := opstest.Operation(verb)
		if change != nil {
			change(&o.Spec)
		}
		at(p).Operation = o
	}
}

func atFormer(p *Pair) *ops.State { return &p.Former }
func atNext(p *Pair) *ops.State   { return &p.Next }

func to(name string) func(*v1alpha1.OperationSpec) {
	return func(o *v1alpha1.OperationSpec) { o.Change = &v1alpha1.SettingsChange{RedirectTo: &name} }
}

// logs gives the option by which a cluster can be followed, and another one.
func logs(o *v1alpha1.OperationSpec) {
	o.Change = &v1alpha1.SettingsChange{Set: map[string]string{"log": "all", "size": "1"}}
}

// TestSettings: what is in flight is asked for as it is, though the cluster wants it already.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pair Pair
		want map[string]string
	}{
		"nothing was asked for": {pair(unmade, unprepared), map[string]string{"log": "all"}},
		"it is in flight": {pair(unmade, doing(atFormer, v1alpha1.VerbConfigure, logs)), map[string]string{"log": "all",
			"size": "1"}},
	} {
		if got := Settings(c.pair).Set; !maps.Equal(got, c.want) {
			t.Errorf("%s: it is to be %v, want %v", name, got, c.want)
		}
	}
}

// TestInFlight: an operation that was cut off after its effect is ended first.
func TestInFlight(t *testing.T) {
	t.Parallel()
	finish := func(o *v1alpha1.OperationSpec) { o.Finish = true }
	for name, c := range map[string]struct {
		way  func(Pair) (Stage, error)
		pair Pair
		want Stage
	}{
		"clients were sent on": {Forward, pair(over, closed, sent, doing(atFormer, v1alpha1.VerbConfigure, to("next"))),
			Redirect},
		"it took over":            {Forward, pair(over, closed, doing(atNext, v1alpha1.VerbCutover, nil)), CutOver},
		"it formed":               {Forward, pair(doing(atNext, v1alpha1.VerbCreate, nil)), Create},
		"the way back opens":      {Forward, pair(over, sent, follows, doing(atFormer, v1alpha1.VerbFollow, nil)), Follow},
		"an option is given":      {Forward, pair(doing(atFormer, v1alpha1.VerbConfigure, logs)), Prepare},
		"it is, and nothing made": {Forward, pair(unmade, doing(atFormer, v1alpha1.VerbConfigure, logs)), Prepare},
		"another option is given": {Forward, pair(doing(atFormer, v1alpha1.VerbConfigure, nil)), CutOver},
		"an operation of others":  {Forward, pair(doing(atFormer, v1alpha1.VerbBackup, nil)), CutOver},
		"of another direction":    {Forward, pair(over, sent, doing(atFormer, v1alpha1.VerbCutover, nil)), Follow},
		"sent to another one":     {Forward, pair(doing(atFormer, v1alpha1.VerbConfigure, to("other"))), CutOver},
		"it took over again":      {Back, pair(over, sent, doing(atFormer, v1alpha1.VerbCutover, nil)), CutBack},
		"clients came back":       {Back, pair(over, doing(atFormer, v1alpha1.VerbConfigure, to(""))), Return},
		"it stopped":              {Ended, pair(over, sent, stopped, doing(atFormer, v1alpha1.VerbStop, nil)), Stop},
		"the way back was closed": {Ended, pair(over, sent, stopped, doing(atNext, v1alpha1.VerbCutover, finish)), Finish},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := c.way(c.pair); got != c.want || err != nil {
				t.Errorf("the stage is %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way    func(Pair) (Stage, error)
		pair   Pair
		want   Stage
		refuse string
	}{
		"the log does not tell enough": {Forward, pair(unmade, unprepared), Prepare, ""},
		"there is no second cluster":   {Forward, pair(unmade), Create, ""},
		"it is half made":              {Forward, pair(forming), Create, ""},
		"it follows":                   {Forward, pair(), CutOver, ""},
		"it took over":                 {Forward, pair(over, closed), Redirect, ""},
		"the change is half made":      {Forward, pair(over, closed, asked), Redirect, ""},
		"nobody knows who takes writes": {Forward, pair(over, func(p *Pair) {
			for i := range p.Next.View.Members {
				p.Next.View.Members[i].Reachable = false
			}
		}), Done, "does not answer"},
		"the clients moved":                             {Forward, pair(over, closed, sent), Follow, ""},
		"the way back is half made":                     {Forward, pair(over, closed, sent, copies), Follow, ""},
		"the way back is open":                          {Forward, pair(over, sent, follows), Done, ""},
		"the way back was given up":                     {Forward, pair(over, sent, stopped), Done, ""},
		"an operator has the former":                    {Forward, pair(managed), Adopt, ""},
		"an operator has both":                          {Forward, pair(managed, adopted), CutOver, ""},
		"an operator has the copy":                      {Forward, pair(adopted), CutOver, ""},
		"nobody can write":                              {Forward, pair(managed, over, closed), Redirect, ""},
		"an operator has the former, and clients moved": {Forward, pair(managed, over, closed, sent), Adopt, ""},
		"the former can't be asked":                     {Forward, pair(over, sent, lost), Done, "does not answer"},
		"another cluster is there":                      {Forward, pair(unrelated), Done, "is no copy of db"},
		"of another version":                            {Forward, pair(older), Done, "for version 1.0.0, not 2.0.0"},
		"its clients are elsewhere":                     {Forward, pair(unmade, sent), Done, "sent to next already"},
		"clients are led straight":                      {Forward, pair(unmade, direct), Done, "--routing proxied"},
		"an engine that needs it not":                   {Forward, pair(plain), Done, "no second cluster"},

		"back: it follows":            {Back, pair(over, sent, follows), CutBack, ""},
		"back: it took over again":    {Back, pair(over, sent), Return, ""},
		"back: its clients are back":  {Back, pair(over), Done, ""},
		"back: it never followed":     {Back, pair(over, sent, closed), Done, "lacks what was written"},
		"back: it was stopped":        {Back, pair(over, sent, stopped), Done, "is stopped"},
		"back: nobody knows":          {Back, pair(over, sent, lost), Done, "does not answer"},
		"back: before the cut over":   {Back, pair(), Done, "never left it"},
		"back: there is nothing":      {Back, pair(unmade), Done, "no cluster next"},
		"finish: it follows":          {Ended, pair(over, sent, follows), Stop, ""},
		"finish: it is stopped":       {Ended, pair(over, sent, stopped), Finish, ""},
		"finish: before the cut over": {Ended, pair(), Done, "have not moved"},
		"finish: there is nothing":    {Ended, pair(unmade), Done, "no cluster next"},
		"finish: another cluster":     {Ended, pair(unrelated), Done, "is no copy of db"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.way(c.pair)
			if got != c.want {
				t.Errorf("the stage is %q, want %q", got, c.want)
			}
			if c.refuse == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refusal, is := errors.AsType[*ops.Error](err)
			if !is || refusal.Kind != ops.Refused || refusal.Hint == "" ||
				!strings.Contains(refusal.Message+refusal.Hint, c.refuse) {
				t.Errorf("the error is %v, want one with %q", err, c.refuse)
			}
		})
	}
	for done, c := range map[Stage]struct {
		way  func(Pair) (Stage, error)
		pair Pair
		want Stage
	}{
		CutOver: {Forward, pair(closed, doing(atNext, v1alpha1.VerbCutover, nil)), Redirect},
		CutBack: {Back, pair(over, sent, follows, doing(atFormer, v1alpha1.VerbCutover, nil)), Return},
	} {
		after, known := c.pair.After(done)
		if got, err := c.way(after); got != c.want || err != nil || !known {
			t.Errorf("after %s comes %q, %v, want %s", done, got, err, c.want)
		}
	}
	if _, known := pair().After(Redirect); known {
		t.Error("nothing is observed after the clients moved")
	}
	if got := Settings(pair(unprepared)).Set["log"]; got != "all" {
		t.Errorf("the option is %q", got)
	}
}
