package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// CertificateRow is one certificate of a cluster, judged.
type CertificateRow struct {
	Severity ops.Severity `json:"severity"`
	Secret   string       `json:"secret"`
	// Use is what it is for, for example "served by my-db-1".
	Use         string    `json:"use"`
	Subject     string    `json:"subject"`
	Issuer      string    `json:"issuer,omitempty"`
	Names       []string  `json:"names,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	NotAfter    time.Time `json:"notAfter,omitzero"`
	// DaysLeft may be negative.
	DaysLeft int `json:"daysLeft"`
	// Live says whether the running member shows this certificate and accepts
	// the authorities of its bundle; "" where nothing serves it.
	Loaded string `json:"loaded,omitempty"`
	// Problem says why it can't be used.
	Problem string `json:"problem,omitempty"`
}

// CertificateRows judges what was seen of a cluster's certificates: the
// authorities first, then everybody's. It is pure.
func CertificateRows(s ops.State) []CertificateRow {
	if s.Kube.Trust == nil {
		return nil
	}
	t := *s.Kube.Trust
	ca := v1alpha1.CASecret(s.Cluster.Name)
	rows := []CertificateRow{authorityRow(s, ca, "signs", t.Current, t.Problem)}
	if t.Next != nil {
		rows = append(rows, authorityRow(s, ca, "is about to sign", *t.Next, ""))
	}
	var members []CertificateRow
	for _, l := range s.Kube.Leaves {
		r := CertificateRow{Secret: l.Secret, Subject: l.Subject, Issuer: l.Issuer, Names: l.Names,
			Fingerprint: l.Fingerprint, NotAfter: l.NotAfter, Problem: l.Problem}
		r.judge(s.Now)
		switch l.Use {
		case pki.UseAdmin:
			r.Use = "this tool dials with it"
		case pki.UseClient:
			r.Use = "for applications"
		default:
			r.Use, r.Loaded = "served by "+l.Member, live(s, l)
			members = append(members, r)
			continue
		}
		rows = append(rows, r)
	}
	return append(rows, members...)
}

func authorityRow(s ops.State, secret, use string, a pki.Authority, problem string) CertificateRow {
	r := CertificateRow{Secret: secret, Use: use, Subject: a.Subject, Fingerprint: a.Fingerprint, NotAfter: a.NotAfter,
		Problem: problem}
	r.judge(s.Now)
	return r
}

func (r *CertificateRow) judge(now time.Time) {
	left := r.NotAfter.Sub(now)
	r.DaysLeft = int(left.Hours() / 24)
	switch {
	case r.Problem != "" || left <= 0:
		r.Severity = ops.Fail
	case left < renewBefore:
		r.Severity = ops.Warn
	default:
		r.Severity = ops.OK
	}
}

// live compares a secret with what its member shows.
func live(s ops.State, l pki.Certificate) string {
	shown := s.View.Member(l.Member).Certificate
	switch {
	case !s.Kube.Member(l.Member).Pod.Running:
		return "not running"
	case shown == nil:
		return "unknown: it could not be dialled"
	case shown.Fingerprint != l.Fingerprint:
		return "serves another one"
	case !Accepts(shown, l.Trusts):
		return fmt.Sprintf("served, but the process trusts %d authorities instead of %d", len(shown.Accepts), len(l.Trusts))
	}
	return "served"
}

// Accepts reports whether the running process takes clients of exactly those
// authorities: it reads them once, when it starts.
func Accepts(shown *engine.Presented, wanted []pki.Authority) bool {
	if shown == nil {
		return false
	}
	names := make([]string, len(wanted))
	for i, a := range wanted {
		names[i] = a.Subject
	}
	slices.Sort(names)
	return slices.Equal(shown.Accepts, names)
}
