package executor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// rotating is a running cluster of two whose certificates are to be rotated.
func rotating(b *opstest.Bench, r v1alpha1.Rotation) ops.State {
	b.T.Helper()
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	b.Op = opstest.Operation(v1alpha1.VerbRotateCertificates)
	b.Op.Spec.Rotation = r
	s := observation(b, liveOf(b))
	b.Must(planner.Resolve(b.Database, &b.Op.Spec, s))
	return s
}

// trusting has a second authority that nobody knows of yet.
func trusting(b *opstest.Bench) {
	b.T.Helper()
	s := rotating(b, v1alpha1.RotateBegin)
	b.Must(pki.AddAuthority(b.T.Context(), b.Client(), b.Cluster(), s.Kube.Trust.Current.Fingerprint))
}

func TestCertificatesAreLookedAtOnRequest(t *testing.T) {
	b := opstest.NewBench(t)
	b.Database.Model.Shows = engine.Presented{Fingerprint: "served"}
	s := rotating(b, v1alpha1.RotateLeaves)
	if s.Kube.Trust == nil || len(s.Kube.Leaves) != 4 || s.View.Member("db-1").Certificate.Fingerprint != "served" {
		t.Errorf("trust %+v, %d leaves, %+v", s.Kube.Trust, len(s.Kube.Leaves), s.View.Members)
	}
	if len(b.Op.Spec.Certificates) != 4 || b.Op.Spec.Authority != s.Kube.Trust.Current.Fingerprint {
		t.Errorf("written down: %+v", b.Op.Spec)
	}
	b.Op = opstest.Operation(v1alpha1.VerbRestart)
	if s := observation(b, liveOf(b)); s.Kube.Trust != nil || s.View.Member("db-1").Certificate != nil ||
		s.Kube.Administrator == nil {
		t.Errorf("read without need: %+v, administrator %+v", s.Kube.Trust, s.Kube.Administrator)
	}
}

// TestSessionFollowsItsCertificate: the tool dials with what is valid now.
func TestSessionFollowsItsCertificate(t *testing.T) {
	b := opstest.NewBench(t)
	rotating(b, v1alpha1.RotateLeaves)
	l := liveOf(b)
	observation(b, l)
	observation(b, l)
	before, n := b.Database.Last(), len(b.Database.Sessions)
	order := ops.Step{Secret: "db-admin-tls"}
	if err := l.renewLeaf(t.Context(), task{State: observation(b, l), Step: order}); err != nil {
		t.Fatal(err)
	}
	observation(b, l)
	if after := b.Database.Last(); len(b.Database.Sessions) != n+1 || !before.Closed || after.Closed ||
		&after.Access.TLS.Certificates[0] == &before.Access.TLS.Certificates[0] {
		t.Errorf("%d sessions after %d", len(b.Database.Sessions), n)
	}
}

func TestServedAsksForPatience(t *testing.T) {
	b := opstest.NewBench(t)
	s := rotating(b, v1alpha1.RotateLeaves)
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
		b.Database.Model.Shows, s.View.Quorum = engine.Presented{Fingerprint: c.shows}, c.quorum
		if err := liveOf(b).served(t.Context(), s, "db-1", "new"); !errors.Is(err, c.want) ||
			(c.want == nil && err != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAPersonsAuthorityIsLookedAtBeforeFounding(t *testing.T) {
	b := opstest.NewBench(t)
	c := b.Founded(1, "")
	c.Spec.TLS.CASecret = "mine"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	if s := observation(b, liveOf(b)); s.Kube.Trust == nil || s.Kube.Trust.GivenProblem == "" {
		t.Errorf("trust %+v", s.Kube.Trust)
	}
	if _, err := perform(b, ops.Step{Action: ops.ActionCertificates}); !errors.Is(err, kube.ErrNotFound) {
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
		kind    ops.Kind
		hint    string
	}{
		"issued": {from, nil, "", ""},
		"silent": {from, fmt.Errorf("nobody asked: %w", kube.ErrIssuing), ops.NotYet, ""},
		"refused": {from, fmt.Errorf("denied: %w", kube.ErrAuthority), ops.NeedsHuman,
			"kubectl describe clusterissuer corporate -n shop"},
		"a person's can't be used":   {own, fmt.Errorf("ran out: %w", kube.ErrAuthority), ops.Failed, ""},
		"the API server is far away": {from, kube.ErrTimeout, ops.Failed, ""},
	} {
		err := issuing(c.cluster, c.err)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || (err != nil && ops.KindOf(err) != c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if e, ok := errors.AsType[*ops.Error](err); ok != (c.hint != "") || (ok && !strings.Contains(e.Hint, c.hint)) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestFoundingWithAnIssuer: the signer is said, and has longer than we would need.
func TestFoundingWithAnIssuer(t *testing.T) {
	b := opstest.NewBench(t)
	c := b.Founded(1, "")
	c.Spec.TLS.Issuer = &v1alpha1.Issuer{Name: "corporate"}
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	s := observation(b, liveOf(b))
	d := planner.Decide(opstest.Stub{}, s)
	if d.Step == nil ||
		d.Step.Title != "Have Issuer corporate sign a certificate authority, and create client certificates" ||
		d.Step.Deadline != rules.WaitDeadline {
		t.Fatalf("decided %+v", d)
	}
}

// TestHeedsWhatRanOut: of an operation in flight only, and only then, all
// certificates are observed because one that was met ran out.
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
			b := opstest.NewBench(t)
			b.Founded(2, "id")
			b.Must(pki.EnsureCertificates(t.Context(), b.Client(), b.Cluster()))
			l := liveOf(b)
			SelectFacts(l, v1alpha1.VerbScale, c.inFlight)
			for range 2 {
				s := observation(b, l)
				s.View.Members = []engine.Member{{Name: "db-1", Certificate: &engine.Presented{NotAfter: s.Now.Add(c.ends)}}}
				b.Must(l.watchExpiry(t.Context(), &s, b.Cluster()))
				if looked := s.Kube.Trust != nil && len(s.Kube.Leaves) > 0; looked != c.looks {
					t.Errorf("read certificates: %v", looked)
				}
			}
		})
	}
}
