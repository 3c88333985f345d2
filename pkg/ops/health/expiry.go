package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// renewBefore is from when on before its end a certificate is told of.
const renewBefore = 30 * 24 * time.Hour

// Expiry is a certificate that ran out, or is about to.
type Expiry struct {
	// What it is, for example "the certificate that my-db-1 serves".
	What string `json:"what"`
	// Secret that holds it.
	Secret   string    `json:"secret"`
	NotAfter time.Time `json:"notAfter"`
	// Over is true if it ran out already.
	Over bool `json:"over"`
	// Authority is true for one that signs others.
	Authority bool `json:"authority"`
}

// text says it in one sentence.
func (e Expiry) text() string {
	tense := "runs out"
	if e.Over {
		tense = "ran out"
	}
	return fmt.Sprintf("%s %s on %s", e.What, tense, ops.Moment(e.NotAfter))
}

// Expiries lists what ran out or is about to, the worst first, as far as was
// seen: what members show when they are dialled, and the one secret that
// dialling takes, cost nothing; all secrets only where somebody asked.
func Expiries(s ops.State) []Expiry {
	var out []Expiry
	note := func(e Expiry) {
		e.Over = !s.Now.Before(e.NotAfter)
		known := slices.ContainsFunc(out, func(o Expiry) bool { return o.What == e.What })
		if !e.NotAfter.IsZero() && e.NotAfter.Sub(s.Now) < renewBefore && !known {
			out = append(out, e)
		}
	}
	if a := s.Kube.Administrator; a != nil {
		for _, ca := range a.Trusts {
			note(Expiry{What: "the authority " + ca.Subject, Secret: a.Secret, NotAfter: ca.NotAfter, Authority: true})
		}
		note(Expiry{What: "the certificate in " + a.Secret, Secret: a.Secret, NotAfter: a.NotAfter})
	}
	for _, m := range s.View.Members {
		if m.Certificate != nil {
			note(Expiry{What: "the certificate that " + m.Name + " serves", NotAfter: m.Certificate.NotAfter})
		}
	}
	for _, l := range s.Kube.Leaves {
		note(Expiry{What: "the certificate in " + l.Secret, Secret: l.Secret, NotAfter: l.NotAfter})
	}
	slices.SortStableFunc(out, func(a, b Expiry) int { return a.NotAfter.Compare(b.NotAfter) })
	return out
}

// renewal is the command that ends them.
func renewal(cluster string, all []Expiry) string {
	command := "kubectl dbop certificates rotate " + cluster
	switch {
	case slices.ContainsFunc(all, func(e Expiry) bool { return e.Authority && e.Over }):
		command += " --ca=at-once"
	case slices.ContainsFunc(all, func(e Expiry) bool { return e.Authority }):
		command += " --ca"
	}
	return command
}

// certificates tells of what runs out: it costs nothing yet, and everything then.
func (a *assessment) certificates() {
	all := Expiries(a.s)
	for _, e := range all {
		a.problem("%s", e.text())
	}
	if len(all) > 0 && a.s.Operation == nil {
		a.renew = []string{renewal(a.s.Cluster.Name, all)}
	}
}

// certificates tells what ran out before the quorum is observed: members
// that refuse each other lose it.
func (d *Examination) certificates() {
	if d.S.Cluster.Spec.TLS.Disabled {
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: "certificates"}
	all := Expiries(d.S)
	over := 0
	for _, e := range all {
		f.Evidence = append(f.Evidence, e.text())
		if e.Over {
			over++
		}
	}
	switch {
	case over > 0:
		f.Severity, f.What = ops.Fail, fmt.Sprintf("%d ran out: everybody who holds one is refused, members too", over)
		f.Remedy = []string{renewal(d.name, all)}
		if d.S.Operation != nil && !slices.ContainsFunc(all, func(e Expiry) bool { return e.Over && e.Authority }) {
			f.Remedy = []string{"kubectl dbop resume " + d.name + " renews them, and continues what is in flight"}
		}
	case len(all) > 0:
		f.Severity, f.What = ops.Warn, fmt.Sprintf("%d run out within %d days", len(all), int(renewBefore.Hours()/24))
		f.Remedy = []string{renewal(d.name, all)}
	case d.S.Kube.Administrator == nil:
		return // nobody was dialled, so nothing was seen
	default:
		f.What = "none that was seen runs out within 30 days"
		f.Evidence = []string{strings.Join(d.validity(), ", ")}
	}
	d.add(f)
}

// validity is until when what was seen is valid.
func (d *Examination) validity() []string {
	out := []string{d.S.Kube.Administrator.Secret + " until " + ops.Moment(d.S.Kube.Administrator.NotAfter)}
	for _, m := range d.S.View.Members {
		if m.Certificate != nil {
			out = append(out, m.Name+" until "+ops.Moment(m.Certificate.NotAfter))
		}
	}
	return out
}
