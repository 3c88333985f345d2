package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// trust is which authorities a cluster's certificates are signed with; next is
// 0 without one that is about to take over.
type trust struct{ current, next int }

func (t trust) bundle() []int {
	if t.next == 0 {
		return []int{t.current}
	}
	return []int{t.current, t.next}
}

// leaf is what a certificate's secret holds.
type leaf struct {
	fingerprint, signer int
	trusts              []int
}

// papers are a pod's files, which follow the secret in the kubelet's own time.
type papers struct {
	leaf leaf
	due  time.Time
}

// ReadCertificates has the site read certificates from now on.
func (s *site) ReadCertificates() { s.certificates = true }

// issue makes a certificate where there is none.
func (w *world) issue(cluster, secret string) {
	o := w.shared(cluster)
	if o.leaves == nil {
		o.leaves, o.trust = map[string]*leaf{}, trust{current: w.id()}
	}
	if o.leaves[secret] == nil {
		o.leaves[secret] = &leaf{fingerprint: w.id(), signer: o.trust.current, trusts: o.trust.bundle()}
	}
}

// mount brings what a member's secret holds into its pod.
func (w *world) mount(s *slot) {
	l := w.shared(s.cluster).leaves[v1alpha1.MemberSecret(s.name)]
	if s.pod == nil || l == nil {
		return
	}
	f := &s.pod.files
	switch {
	case f.leaf.fingerprint == 0:
		f.leaf = *l
	case f.leaf.fingerprint == l.fingerprint && slices.Equal(f.leaf.trusts, l.trusts):
		f.due = time.Time{}
	case f.due.IsZero():
		f.due = w.now.Add(w.between(0, 3*time.Second))
		if w.chance(0.1) {
			f.due = f.due.Add(w.between(0, 2*time.Minute))
		}
	case !w.now.Before(f.due):
		*f = papers{leaf: *l}
	}
}

// refusals complains about members and clients that refuse each other
// although each did its part.
func (w *world) refusals(cluster, what string) {
	o := w.shared(cluster)
	var running []*slot
	for _, s := range w.slots {
		if s.cluster == cluster && s.pod != nil && s.pod.process != nil && s.pod.process.accepts != nil {
			running = append(running, s)
		}
	}
	for _, s := range running {
		for _, peer := range running {
			if !slices.Contains(s.pod.process.accepts, peer.pod.files.leaf.signer) {
				w.violate("%s: %s refuses %s: it does not trust who signed its certificate", what, s.name, peer.name)
			}
		}
		for _, secret := range []string{v1alpha1.AdminSecret(cluster), v1alpha1.ClientSecret(cluster)} {
			switch l := o.leaves[secret]; {
			case l == nil:
			case !slices.Contains(s.pod.process.accepts, l.signer):
				w.violate("%s: %s refuses who has read %s", what, s.name, secret)
			case !slices.Contains(l.trusts, s.pod.files.leaf.signer):
				w.violate("%s: who has read %s does not trust %s", what, secret, s.name)
			}
		}
	}
}

// certificateFacts is what an observation of the secrets shows.
func (w *world) certificateFacts(cluster string) (*pki.Trust, []pki.Certificate) {
	o := w.shared(cluster)
	if o.leaves == nil {
		return &pki.Trust{Problem: "the authority is gone"}, nil
	}
	t := &pki.Trust{Current: authority(o.trust.current)}
	if o.trust.next != 0 {
		next := authority(o.trust.next)
		t.Next = &next
	}
	var leaves []pki.Certificate
	for secret, l := range o.leaves {
		c := pki.Certificate{Secret: secret, Use: pki.UseAdmin, Fingerprint: strconv.Itoa(l.fingerprint),
			Signer: strconv.Itoa(l.signer)}
		for _, s := range w.slots {
			if v1alpha1.MemberSecret(s.name) == secret {
				c.Use, c.Member = pki.UseMember, s.name
			}
		}
		for _, a := range l.trusts {
			c.Trusts = append(c.Trusts, authority(a))
		}
		leaves = append(leaves, c)
	}
	slices.SortFunc(leaves, func(a, b pki.Certificate) int { return strings.Compare(a.Secret, b.Secret) })
	return t, leaves
}

func authority(id int) pki.Authority {
	return pki.Authority{Fingerprint: strconv.Itoa(id), Subject: "authority " + strconv.Itoa(id)}
}

// presented is what a member shows at a handshake; nil if it does not answer.
func (w *world) presented(name string) *engine.Presented {
	s := w.find(name)
	if !w.runs(s) || s.pod.process.accepts == nil {
		return nil
	}
	p := &engine.Presented{Fingerprint: strconv.Itoa(s.pod.files.leaf.fingerprint)}
	for _, a := range s.pod.process.accepts {
		p.Accepts = append(p.Accepts, authority(a).Subject)
	}
	slices.Sort(p.Accepts)
	return p
}

// certify does the steps that are about certificates, request by request.
func (s *site) certify(ctx context.Context, st ops.State, step ops.Step) error {
	w, o := s.actor.world, s.actor.world.shared(s.cluster)
	change := func(what string, effect func()) error {
		return s.do(ctx, what, func() error {
			effect()
			w.refusals(s.cluster, what)
			return nil
		})
	}
	switch step.Action {
	case ops.ActionRenew:
		return s.renewLeaf(ctx, st, step, change)
	case ops.ActionAddCA:
		return change(step.ID, func() {
			if o.trust.next == 0 && strconv.Itoa(o.trust.current) == st.Operation.Spec.Authority {
				o.trust.next = w.id()
			}
		})
	case ops.ActionPromoteCA:
		next := st.Kube.Trust.Next
		return change(step.ID, func() {
			if next != nil && strconv.Itoa(o.trust.next) == next.Fingerprint {
				o.trust = trust{current: o.trust.next}
			}
		})
	case ops.ActionDropCA:
		return change(step.ID, func() { o.trust.next = 0 })
	}
	for _, l := range st.Kube.Leaves {
		err := change("trust of "+l.Secret, func() {
			if has := o.leaves[l.Secret]; has != nil {
				has.trusts = o.trust.bundle()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renewLeaf issues a certificate, and sees it served.
func (s *site) renewLeaf(ctx context.Context, st ops.State, step ops.Step, change func(string, func()) error) error {
	w, o := s.actor.world, s.actor.world.shared(s.cluster)
	issued := 0
	err := change(step.ID, func() {
		signer := o.trust.current
		if step.NextCA {
			signer = o.trust.next
		}
		w.issue(s.cluster, step.Secret)
		l := o.leaves[step.Secret]
		if l.signer != signer || strconv.Itoa(l.fingerprint) == st.Operation.Spec.Certificates[step.Secret] {
			l.fingerprint, l.signer = w.id(), signer
		}
		issued = l.fingerprint
	})
	if err != nil || len(step.Members) == 0 || !st.View.Quorum {
		return err
	}
	return s.actor.call(ctx, "shake hands with "+step.Members[0], func() error {
		if p := w.presented(step.Members[0]); p != nil && p.Fingerprint != strconv.Itoa(issued) {
			return fmt.Errorf("%s shows another certificate: %w", step.Members[0], engine.ErrNotReady)
		}
		return nil
	})
}

// rotated checks what a rotation says it has reached.
func (w *world) rotated(o *v1alpha1.Operation) {
	if o.Spec.Verb != v1alpha1.VerbRotateCertificates || o.Status.Phase != v1alpha1.PhaseSucceeded {
		return
	}
	sh := w.shared(o.Spec.Cluster)
	if both := o.Spec.Rotation == v1alpha1.RotateBegin; o.Spec.Rotation != v1alpha1.RotateLeaves &&
		both != (sh.trust.next != 0) {
		w.violate("%s (%s) succeeded with authorities %v", o.Name, o.Spec.Rotation, sh.trust.bundle())
	}
	for secret, l := range sh.leaves {
		if w.left(o.Spec.Cluster, secret) {
			continue
		}
		if strconv.Itoa(l.fingerprint) == o.Spec.Certificates[secret] {
			w.violate("%s succeeded and %s holds the old certificate", o.Name, secret)
		}
		if o.Spec.Rotation != v1alpha1.RotateLeaves && !slices.Equal(l.trusts, sh.trust.bundle()) {
			w.violate("%s (%s) succeeded and %s trusts %v of %v", o.Name, o.Spec.Rotation, secret, l.trusts,
				sh.trust.bundle())
		}
	}
	for _, s := range w.slots {
		if s.cluster != o.Spec.Cluster || s.pod == nil || s.pod.process == nil ||
			s.pod.process.began.After(o.Status.StartedAt.Time) || o.Spec.Rotation == v1alpha1.RotateLeaves {
			continue
		}
		if !slices.Equal(s.pod.process.accepts, sh.trust.bundle()) {
			w.violate("%s (%s) succeeded and %s takes clients of %v, not %v", o.Name, o.Spec.Rotation, s.name,
				s.pod.process.accepts, sh.trust.bundle())
		}
	}
}

// left reports whether a certificate is that of a member of an earlier incarnation.
func (w *world) left(cluster, secret string) bool {
	token := w.records.clusters[cluster].Status.Bootstrap.Token
	for _, s := range w.slots {
		if v1alpha1.MemberSecret(s.name) == secret {
			return s.workload == nil || s.workload.token != token
		}
	}
	return false
}
