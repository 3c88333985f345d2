package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// lostAuthority is what a repair writes down for an authority whose
// certificate is not known any more.
const lostAuthority = "lost"

// noRecord reports whether an error says that a record is missing or damaged: a
// repair writes it again.
func noRecord(err error) bool {
	return errors.Is(err, kube.ErrNotFound) || errors.Is(err, kube.ErrDamaged)
}

// Missing says what to do about a cluster whose record is missing or damaged:
// nil if there is nothing of it at all.
func Missing(namespace, cluster string, k kube.Kept) *Error {
	switch {
	case k.Damaged != nil && k.Record != nil:
		return &Error{Kind: Refused, Check: "record-damaged",
			Message: "cluster " + cluster, Err: k.Damaged,
			Hint: fmt.Sprintf("kubectl dbop repair %s writes the record again from what is there", cluster)}
	case k.Damaged != nil:
		return &Error{Kind: NeedsHuman, Check: "record-damaged",
			Message: fmt.Sprintf("the record of %s (configmap %s) is damaged, and can't be written from what is there: %s", cluster, v1alpha1.Record(cluster), k.Problem),
			Hint:    fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there", namespace, v1alpha1.LabelCluster, cluster)}
	case len(k.Workloads)+len(k.Volumes) == 0:
		return nil
	case k.Problem != "":
		return &Error{Kind: NeedsHuman, Check: "record-missing",
			Message: fmt.Sprintf("the record of %s (configmap %s) is missing, and can't be written from what is there: %s", cluster, v1alpha1.Record(cluster), k.Problem),
			Hint:    fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there", namespace, v1alpha1.LabelCluster, cluster)}
	case k.Lost():
		return recordMissing(cluster)
	}
	return &Error{Kind: Failed, Check: "volumes-kept",
		Message: fmt.Sprintf("cluster %s not found in namespace %s; these volumes of it are kept: %s", cluster, namespace, strings.Join(k.Volumes, ", ")),
		Hint:    fmt.Sprintf("kubectl dbop create %s --from-volumes starts its members on them again", cluster)}
}

// recordMissing is the answer to every command on a cluster whose record is
// lost while its members run.
func recordMissing(cluster string) *Error {
	return &Error{Kind: Refused, Check: "record-missing",
		Message: fmt.Sprintf("the record of %s (configmap %s) is missing, its members still run", cluster, v1alpha1.Record(cluster)),
		Hint:    fmt.Sprintf("kubectl dbop repair %s writes the record again from what is there", cluster)}
}

// rewritable reports whether a lost or damaged record is written again without
// being asked for: it is clear what it said, and that its cluster was of this very
// object. While an operation is in flight that changes which data is the
// cluster's, or ends it, the copies may be older than the record was.
func (g Charge) rewritable() bool {
	c := g.Kept.Record
	if g.Custom == nil || g.Custom.DeletionTimestamp != nil || g.Custom.Spec.Paused || g.Record != nil || !g.Kept.Clear ||
		c.Annotations[v1alpha1.AnnotationCustom] != string(g.Custom.UID) || c.Status.Formation.ClusterID == "" || !g.Kept.Lost() && !c.Spec.Stopped {
		return false
	}
	if g.Active == nil {
		return true
	}
	switch g.Active.Spec.Verb {
	case v1alpha1.VerbRestore, v1alpha1.VerbRecover, v1alpha1.VerbDelete:
		return false
	}
	return true
}

// writeLost writes a lost record again while another operation is in flight:
// that one could not be resumed without it, and no repair could begin before it ends.
func (r *Runner) writeLost(ctx context.Context, namespace string, req Request) error {
	c := req.Cluster
	if c == nil || req.Operation.Verb != v1alpha1.VerbRepair {
		return nil
	}
	active, err := r.Store.ActiveOperation(ctx, namespace, c.Name)
	if err != nil || active == nil || active.Spec.Verb == v1alpha1.VerbRepair || active.Spec.Verb == v1alpha1.VerbDelete {
		return err
	}
	if err := r.Store.CreateCluster(ctx, c); err != nil {
		return fmt.Errorf("write the record of %s again: %w", c.Name, err)
	}
	r.Reporter.Note("The record of " + c.Name + " is written again.")
	return inFlight(active, c)
}

// recordEnding says of a record that somebody deleted it, and what keeps it.
func recordEnding(c *v1alpha1.DatabaseCluster) string {
	return fmt.Sprintf("the record of %s (configmap %s) is being deleted, and is there only until its finalizers are removed: %s",
		c.Name, v1alpha1.Record(c.Name), strings.Join(c.Finalizers, ", "))
}

// endRecord are the commands after which a record that was deleted is there again.
func endRecord(c *v1alpha1.DatabaseCluster) []string {
	return []string{
		fmt.Sprintf(`kubectl patch configmap %s -n %s --type=merge -p '{"metadata":{"finalizers":null}}'`, v1alpha1.Record(c.Name), c.Namespace),
		"kubectl dbop repair " + c.Name}
}

// rebuilding makes again what was lost of a cluster, for a repair: its record,
// then its services and its certificate authority with what that signs. Other
// objects and the members follow. Each step is seen in what is there, so a repeat
// goes on.
func (p planner) rebuilding() *Decision {
	if p.s.verb() != v1alpha1.VerbRepair || p.s.cancelling() {
		return nil
	}
	if c := p.s.Cluster; c.DeletionTimestamp != nil {
		return block(&Error{Kind: NeedsHuman, Check: "record-terminating", Message: recordEnding(c),
			Hint: strings.Join(endRecord(c), "; then: ")})
	}
	if p.s.Cluster.ResourceVersion == "" {
		return do(Step{ID: "write-record", Action: ActionWriteRecord, Risk: RiskNone, Deadline: stepDeadline,
			Title: "Write the record of the cluster again", Reason: "it is missing; the volume claims hold a copy of it",
			Touches: []string{"configmap/" + v1alpha1.Record(p.s.Cluster.Name)}})
	}
	if !p.s.formed() {
		return nil
	}
	if !p.s.Kube.Services {
		return p.services()
	}
	return p.restoringAuthority()
}

// restoringAuthority makes a lost certificate authority again. The key of the
// lost one is gone, so another takes its place. Where its certificate is known
// the members change over one by one, as in a rotation; otherwise nobody can
// reach them any more, and they restart together.
func (p planner) restoringAuthority() *Decision {
	trust := p.s.Kube.Trust
	if p.s.Cluster.Spec.TLS.Disabled || trust == nil || p.s.Operation.Spec.Quiet {
		return nil
	}
	switch lost := p.s.Operation.Spec.Authority; {
	case trust.Problem != "" && trust.Next == nil:
		return do(Step{ID: "restore-authority", Action: ActionRestoreCA, Risk: RiskNone, Deadline: waitDeadline,
			Title: "Make a certificate authority again", Reason: trust.Problem, Touches: []string{"secret/" + v1alpha1.CASecret(p.s.Cluster.Name)}})
	case lost == "":
	case lost == lostAuthority:
		if d := p.resign(*trust); d != nil {
			return d
		}
		if d := p.distribute(*trust, "Let everybody trust "+trust.Current.Subject+" alone"); d != nil {
			return d
		}
		return p.together()
	case trust.Next != nil:
		return p.trustBoth(*trust, newSigns)
	case trust.Current.Fingerprint != lost:
		return p.dropOld(*trust)
	}
	return nil
}

// pinAuthority writes down whether a repair has to replace the authority: by
// the fingerprint of the one that members still trust, or by the pods that
// have to restart together.
func pinAuthority(o *v1alpha1.OperationSpec, s State) {
	if s.Kube.Trust == nil || s.Kube.Trust.Problem == "" {
		return
	}
	o.Rotation, o.Authority = v1alpha1.RotateAtOnce, s.trusted()
	if o.Authority == "" {
		o.Authority, o.Pods = lostAuthority, podsOf(s)
	}
}

// restoredAuthority is the state once the authority's secret was made again.
func (s *State) restoredAuthority() {
	t := kube.Trust{Given: s.Kube.Trust.Given, GivenProblem: s.Kube.Trust.GivenProblem}
	next, lost := kube.Authority{Fingerprint: "predicted-authority", Subject: "the new authority"}, s.Operation.Spec.Authority
	if t.Given != nil {
		next = *t.Given
	}
	t.Current = next
	if lost != lostAuthority && next.Fingerprint != lost {
		t.Current, t.Next, t.Problem = kube.Authority{Fingerprint: lost, Subject: "the lost authority"}, &next, "it has no key"
	}
	s.Kube.Trust = &t
}

// trusted is the fingerprint of the authority that signed the certificates of
// the administrator and of every member; "" if they differ, or if a
// certificate or a member's workload is gone.
func (s State) trusted() string {
	secrets := []string{v1alpha1.AdminSecret(s.Cluster.Name)}
	for _, name := range (planner{s: s}).certified() {
		if !s.Kube.Member(name).Workload.Exists {
			return ""
		}
		secrets = append(secrets, v1alpha1.MemberSecret(name))
	}
	signer := ""
	for i, secret := range secrets {
		l, ok := s.Kube.Leaf(secret)
		if !ok || l.Problem != "" || i > 0 && l.Signer != signer {
			return ""
		}
		signer = l.Signer
	}
	return signer
}
