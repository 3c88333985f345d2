package ops

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// rotating is a running cluster of two whose certificates are to be rotated.
func (b *bench) rotating(r v1alpha1.Rotation) State {
	b.t.Helper()
	b.founded(2, "id")
	b.running("db-1", "db-2")
	b.op = operation(v1alpha1.VerbRotateCertificates)
	b.op.Spec.Rotation = r
	s := b.observe(b.live())
	b.must(pin(b.database, &b.op.Spec, s))
	return s
}

// trusting has a second authority that nobody knows of yet.
func (b *bench) trusting() {
	b.t.Helper()
	s := b.rotating(v1alpha1.RotateBegin)
	b.must(b.client().AddAuthority(b.t.Context(), b.cluster(), s.Kube.Trust.Current.Fingerprint))
}

func TestCertificatesAreLookedAtOnRequest(t *testing.T) {
	b := newBench(t)
	b.database.model.shows = engine.Presented{Fingerprint: "served"}
	s := b.rotating(v1alpha1.RotateLeaves)
	if s.Kube.Trust == nil || len(s.Kube.Leaves) != 4 || s.View.Member("db-1").Certificate.Fingerprint != "served" {
		t.Errorf("trust %+v, %d leaves, %+v", s.Kube.Trust, len(s.Kube.Leaves), s.View.Members)
	}
	if len(b.op.Spec.Certificates) != 4 || b.op.Spec.Authority != s.Kube.Trust.Current.Fingerprint {
		t.Errorf("written down: %+v", b.op.Spec)
	}
	b.op = operation(v1alpha1.VerbRestart)
	if s := b.observe(b.live()); s.Kube.Trust != nil || s.View.Member("db-1").Certificate != nil || s.Kube.Administrator == nil {
		t.Errorf("looked at without need: %+v, administrator %+v", s.Kube.Trust, s.Kube.Administrator)
	}
}

// TestSessionFollowsItsCertificate: the tool dials with what is valid now.
func TestSessionFollowsItsCertificate(t *testing.T) {
	b := newBench(t)
	b.rotating(v1alpha1.RotateLeaves)
	l := b.live()
	b.observe(l)
	b.observe(l)
	before, n := b.database.last(), len(b.database.sessions)
	if err := l.renewLeaf(t.Context(), b.observe(l), Step{Secret: "db-admin-tls"}); err != nil {
		t.Fatal(err)
	}
	b.observe(l)
	if after := b.database.last(); len(b.database.sessions) != n+1 || !before.closed || after.closed || &after.access.TLS.Certificates[0] == &before.access.TLS.Certificates[0] {
		t.Errorf("%d sessions after %d", len(b.database.sessions), n)
	}
}

func TestServedAsksForPatience(t *testing.T) {
	b := newBench(t)
	s := b.rotating(v1alpha1.RotateLeaves)
	for name, c := range map[string]struct {
		shows  string
		quorum bool
		want   error
	}{
		"not yet":                          {"old", true, engine.ErrNotReady},
		"served":                           {"new", true, nil},
		"nobody serves without a quorum":   {"old", false, nil},
		"what can't be seen is seen later": {"", true, nil},
	} {
		b.database.model.shows, s.View.Quorum = engine.Presented{Fingerprint: c.shows}, c.quorum
		if err := b.live().served(t.Context(), s, "db-1", "new"); !errors.Is(err, c.want) || (c.want == nil && err != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAPersonsAuthorityIsLookedAtBeforeFounding(t *testing.T) {
	b := newBench(t)
	c := b.founded(1, "")
	c.Spec.TLS.CASecret = "mine"
	b.must(b.store().UpdateCluster(t.Context(), c))
	if s := b.observe(b.live()); s.Kube.Trust == nil || s.Kube.Trust.GivenProblem == "" {
		t.Errorf("trust %+v", s.Kube.Trust)
	}
	if _, err := b.perform(Step{Action: ActionCertificates}); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("it goes on without it: %v", err)
	}
}

// TestAnIssuerIsWaitedFor: its silence asks for patience, its refusal for a person.
func TestAnIssuerIsWaitedFor(t *testing.T) {
	own, from := &v1alpha1.DatabaseCluster{}, &v1alpha1.DatabaseCluster{}
	from.Namespace, from.Spec.TLS.Issuer = "shop", &v1alpha1.Issuer{Name: "corporate", Kind: "ClusterIssuer"}
	for name, c := range map[string]struct {
		cluster *v1alpha1.DatabaseCluster
		err     error
		kind    Kind
		hint    string
	}{
		"issued":                     {from, nil, "", ""},
		"silent":                     {from, fmt.Errorf("nobody looked: %w", kube.ErrIssuing), NotYet, ""},
		"refused":                    {from, fmt.Errorf("denied: %w", kube.ErrAuthority), NeedsHuman, "kubectl describe clusterissuer corporate -n shop"},
		"a person's can't be used":   {own, fmt.Errorf("ran out: %w", kube.ErrAuthority), Failed, ""},
		"the API server is far away": {from, kube.ErrTimeout, Failed, ""},
	} {
		err := issuing(c.cluster, c.err)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || (err != nil && KindOf(err) != c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if e, ok := errors.AsType[*Error](err); ok != (c.hint != "") || (ok && !strings.Contains(e.Hint, c.hint)) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestFoundingWithAnIssuer: who signs is said, and has longer than we would need.
func TestFoundingWithAnIssuer(t *testing.T) {
	b := newBench(t)
	c := b.founded(1, "")
	c.Spec.TLS.Issuer = &v1alpha1.Issuer{Name: "corporate"}
	b.must(b.store().UpdateCluster(t.Context(), c))
	s := b.observe(b.live())
	d := Decide(stub{}, s)
	if d.Step == nil || d.Step.Title != "Have Issuer corporate sign a certificate authority, and create client certificates" || d.Step.Deadline != waitDeadline {
		t.Fatalf("decided %+v", d)
	}
}

// TestHeedsWhatRanOut: of an operation in flight only, and only then, all
// certificates are looked at because one that was met ran out.
func TestHeedsWhatRanOut(t *testing.T) {
	for name, c := range map[string]struct {
		inFlight bool
		ends     time.Duration
		looks    bool
	}{
		"in flight":                {true, -time.Minute, true},
		"only considered":          {false, -time.Minute, false},
		"in flight, and it is not": {true, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.founded(2, "id")
			b.must(b.client().EnsureCertificates(t.Context(), b.cluster()))
			l := b.live()
			attend(l, v1alpha1.VerbScale, c.inFlight)
			for range 2 {
				s := b.observe(l)
				s.View.Members = []engine.Member{{Name: "db-1", Certificate: &engine.Presented{NotAfter: s.Now.Add(c.ends)}}}
				b.must(l.heed(t.Context(), &s, b.cluster()))
				if looked := s.Kube.Trust != nil && len(s.Kube.Leaves) > 0; looked != c.looks {
					t.Errorf("looked at certificates: %v", looked)
				}
			}
		})
	}
}
