package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/certificates"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// ReadCertificates has a world read every certificate from now on: at
// the secrets, and at what each member shows. Most operations don't need to.
func ReadCertificates(w ops.Cluster) {
	if l, ok := w.(interface{ ReadCertificates() }); ok {
		l.ReadCertificates()
	}
}

// SelectFacts has the cluster read what an operation of that verb is about; for
// one in flight also the certificates, if any that members or the tool show
// has run out.
func SelectFacts(w ops.Cluster, verb v1alpha1.Verb, inFlight bool) {
	reads := planner.OperationOf(verb).Traits()
	if reads.ReadsCertificates {
		ReadCertificates(w)
	}
	if l, ok := w.(interface{ ReadSchedule() }); ok && reads.ReadsSchedule {
		l.ReadSchedule()
	}
	if l, ok := w.(*Executor); ok && inFlight {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.followsExpiry = true
	}
}

// watchExpiry reads the certificates from now on if one that was met ran out.
func (l *Executor) watchExpiry(ctx context.Context, s *ops.State, c *v1alpha1.DatabaseCluster) error {
	over := slices.ContainsFunc(health.Expiries(*s), func(e health.Expiry) bool { return e.Over && !e.Authority })
	l.mu.Lock()
	begin := over && l.followsExpiry && !l.certificates
	l.certificates = l.certificates || begin
	l.mu.Unlock()
	if !begin {
		return nil
	}
	return l.certificateFacts(ctx, s, c)
}

// ReadCertificates, see the function of that name.
func (l *Executor) ReadCertificates() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.certificates = true
}

// certificateFacts reads the secrets, and lets go of a session whose own
// certificate or trust was renewed. A person's authority is observed before
// anything is founded on it.
func (l *Executor) certificateFacts(ctx context.Context, s *ops.State, c *v1alpha1.DatabaseCluster) error {
	l.mu.Lock()
	wanted := l.certificates
	l.mu.Unlock()
	founding := c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID == ""
	wanted = wanted || c.Spec.TLS.CASecret != "" && founding
	secrets, err := l.readSecrets(ctx, s, c, wanted)
	if err != nil {
		return fmt.Errorf("read the certificates of %s: %w", c.Name, err)
	}
	if !wanted || secrets == nil || c.Spec.TLS.Disabled {
		return nil
	}
	if s.Kube.Trust, s.Kube.Leaves, err = pki.CertificateFacts(ctx, l.Client, c, secrets); err != nil {
		return fmt.Errorf("read the certificates of %s: %w", c.Name, err)
	}
	now, ok := s.Kube.Leaf(v1alpha1.AdminSecret(c.Name))
	l.mu.Lock()
	defer l.mu.Unlock()
	if used := l.admin; ok && used != nil && l.session != nil &&
		(used.Fingerprint != now.Fingerprint || !certificates.SameAuthorities(used.Trusts, now.Trusts)) {
		_ = l.session.Close() // whatever it still does is asked again
		l.session = nil
	}
	return nil
}

// present asks members what they show at a handshake of this very moment.
func (l *Executor) present(ctx context.Context, session engine.Session, v *engine.View) {
	l.mu.Lock()
	wanted := l.certificates
	l.mu.Unlock()
	p, ok := session.(engine.Presenter)
	if !wanted || !ok {
		return
	}
	var wg sync.WaitGroup
	for i := range v.Members {
		wg.Go(func() {
			m := &v.Members[i]
			m.Certificate = nil
			if shown, err := p.Present(ctx, m.Name); err == nil {
				m.Certificate = &shown
			}
		})
	}
	wg.Wait()
}

// renewLeaf issues a certificate and, where a member serves it, sees it served.
func (l *Executor) renewLeaf(ctx context.Context, t task) error {
	order := pki.LeafOrder{Secret: t.Secret, Use: pki.UseMember, Member: t.Member(), Next: t.NextCA,
		Old: t.Operation.Spec.Certificates[t.Secret]}
	switch t.Secret {
	case v1alpha1.AdminSecret(t.Cluster.Name):
		order.Use = pki.UseAdmin
	case v1alpha1.ClientSecret(t.Cluster.Name):
		order.Use = pki.UseClient
	}
	fingerprint, err := pki.RenewLeaf(ctx, l.Client, t.Cluster, order)
	if err != nil {
		return err
	}
	pod := t.Kube.Member(t.Member()).Pod
	if order.Use != pki.UseMember || !pod.Running {
		return nil
	}
	if err := pki.TriggerSecretSync(ctx, l.Client, t.Cluster.Namespace, v1alpha1.PodName(order.Member), pod.UID,
		fingerprint); err != nil {
		return fmt.Errorf("bring the certificate of %s into its pod: %w", order.Member, err)
	}
	return l.served(ctx, t.State, order.Member, fingerprint)
}

// served asks for patience until a member shows the certificate. Without a
// quorum a member may not serve at all before the others have theirs.
func (l *Executor) served(ctx context.Context, s ops.State, member, fingerprint string) error {
	if !s.View.Quorum {
		return nil
	}
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return err
	}
	p, ok := session.(engine.Presenter)
	if !ok {
		return nil
	}
	if shown, err := p.Present(ctx, member); err == nil && shown.Fingerprint != fingerprint {
		return fmt.Errorf("the kubelet has not brought the certificate into the pod of %s yet: %w", member,
			engine.ErrNotReady)
	}
	return nil
}

// issuing has an issuer waited for that has not answered yet, and a person
// called for one that can't be had.
func issuing(c *v1alpha1.DatabaseCluster, err error) error {
	switch {
	case errors.Is(err, kube.ErrIssuing):
		return fmt.Errorf("%w: %w", err, engine.ErrNotReady)
	case errors.Is(err, kube.ErrAuthority) && c.Spec.TLS.Issuer != nil:
		return &ops.Error{Kind: ops.NeedsHuman, Check: "authority", Message: "no authority was issued", Err: err,
			Hint: fmt.Sprintf("kubectl describe %s -n %s shows what it can sign; the same command asks again",
				strings.ToLower(c.Spec.TLS.Issuer.String()), c.Namespace)}
	}
	return err
}

func (l *Executor) createCertificates(ctx context.Context, t task) error {
	return issuing(t.Cluster, pki.EnsureCertificates(ctx, l.Client, t.Cluster))
}

func (l *Executor) addAuthority(ctx context.Context, t task) error {
	return issuing(t.Cluster, pki.AddAuthority(ctx, l.Client, t.Cluster, t.Operation.Spec.Authority))
}

// distributeTrust hands the bundle of authorities out.
func (l *Executor) distributeTrust(ctx context.Context, t task) error {
	var secrets []string
	for _, leaf := range t.Kube.Leaves {
		secrets = append(secrets, leaf.Secret)
	}
	return pki.DistributeTrust(ctx, l.Client, t.Cluster, secrets)
}

func (l *Executor) promoteAuthority(ctx context.Context, t task) error {
	if t.Kube.Trust == nil || t.Kube.Trust.Next == nil {
		return nil
	}
	return pki.PromoteAuthority(ctx, l.Client, t.Cluster, t.Kube.Trust.Next.Fingerprint)
}

func (l *Executor) dropAuthority(ctx context.Context, t task) error {
	return pki.DropAuthority(ctx, l.Client, t.Cluster)
}

func (l *Executor) restoreAuthority(ctx context.Context, t task) error {
	return issuing(t.Cluster, pki.RestoreAuthority(ctx, l.Client, t.Cluster, t.Operation.Spec.Authority))
}
