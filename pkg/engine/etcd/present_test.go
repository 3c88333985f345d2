package etcd

import (
	"crypto/tls"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

// shown shakes hands until the member shows what is wanted.
func (f *fleet) shown(member, what string, want func(engine.Presented) bool) engine.Presented {
	f.t.Helper()
	var p engine.Presented
	f.eventually(member+" "+what, func() error {
		var err error
		if p, err = f.session.Present(f.t.Context(), member); err != nil {
			return err
		}
		if !want(p) {
			return fmt.Errorf("it shows %+v", p)
		}
		return nil
	})
	return p
}

// TestLeavesAreReadAtEachHandshake is what a rotation without restarts rests
// on; and that authorities are read at the start alone is what one with
// restarts is for.
func TestLeavesAreReadAtEachHandshake(t *testing.T) {
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "db", 3)
			f.form(series, f.names()...)
			before := f.shown("db-1", "shows its certificate", func(engine.Presented) bool { return true })
			if !slices.Equal(before.Accepts, []string{"CN=test CA"}) {
				t.Errorf("it accepts %v", before.Accepts)
			}
			f.issuer.members(f.dir, f.hosts, 2*time.Hour)
			next := newIssuer(t, "next CA")
			write(t, f.dir, "ca.crt", append(f.issuer.pem(), next.pem()...))
			after := f.shown("db-1", "shows another",
				func(p engine.Presented) bool { return p.Fingerprint != before.Fingerprint })
			if !slices.Equal(after.Accepts, before.Accepts) {
				t.Errorf("the running process accepts %v already", after.Accepts)
			}
			// A member that restarts dials and is dialled with what is there now.
			f.kill("db-2")
			f.start(series, "db-2", false, f.names()...)
			f.healthy(f.names()...)
			f.shown("db-2", "accepts both", func(p engine.Presented) bool {
				return slices.Equal(p.Accepts, []string{"CN=next CA", "CN=test CA"})
			})
		})
	}
}

// TestMembersReturnFromExpiry: certificates run out, nobody can dial anybody,
// and new files alone bring the cluster back.
func TestMembersReturnFromExpiry(t *testing.T) {
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "db", 3)
			f.form(series, f.names()...)
			short := f.issuer.members(f.dir, f.hosts, time.Second)
			// The open streams of peers live on; what dials again is refused.
			time.Sleep(1100 * time.Millisecond)
			f.tls.Certificates = []tls.Certificate{short}
			stale := client.New(f.access(), f.session.At)
			t.Cleanup(func() { _ = stale.Close() })
			v := stale.Observe(t.Context(), []string{"db-1"})
			if m := v.Member("db-1"); m.Reachable || m.Certificate == nil || time.Until(m.Certificate.NotAfter) > 0 {
				t.Errorf("an expired member is %+v, certificate %+v", m, m.Certificate)
			}
			for _, member := range []string{"db-2", "db-3"} {
				f.kill(member)
				f.start(series, member, false, f.names()...)
			}
			f.eventually("the quorum is lost", func() error {
				if v := f.session.Observe(t.Context(), f.names()); v.Quorum {
					return fmt.Errorf("the view is %+v", v)
				}
				return nil
			})
			leaf := f.issuer.members(f.dir, f.hosts, time.Hour)
			f.tls.Certificates = []tls.Certificate{leaf}
			fresh := client.New(f.access(), f.session.At)
			t.Cleanup(func() { _ = fresh.Close() })
			began := time.Now()
			f.eventually("all are healthy again", func() error {
				v := fresh.Observe(t.Context(), f.names())
				for _, member := range f.names() {
					if err := health(v, member); err != nil {
						return err
					}
				}
				return nil
			})
			t.Logf("%s: healthy %s after the files", series, time.Since(began).Round(100*time.Millisecond))
		})
	}
}
