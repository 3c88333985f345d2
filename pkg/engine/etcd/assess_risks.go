package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/memberconfig"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var _ engine.Recognizer = (*Engine)(nil)

// Recognize implements engine.Recognizer.
func (*Engine) Recognize(pod corev1.PodSpec) (engine.MemberConfig, bool) {
	return memberconfig.Read(pod)
}

// nearlyFull is the share of the quota from which on a data file is a risk.
const nearlyFull = 0.8

// AssessRisks implements engine.Recognizer. What it knows is in the tables
// that rule our own clusters: floors, options, quota.
func (*Engine) AssessRisks(traces []engine.MemberConfig, v engine.View) []engine.Risk {
	a := &assessment{traces: traces, view: v}
	a.flags()
	a.versions()
	a.security()
	a.space()
	a.nextMinor()
	slices.SortStableFunc(a.risks, func(a, b engine.Risk) int { return rank(!a.Severe, !b.Severe) })
	return a.risks
}

type assessment struct {
	traces []engine.MemberConfig
	view   engine.View
	risks  []engine.Risk
}

func (a *assessment) add(r engine.Risk) { a.risks = append(a.risks, r) }

// pods are those whose trace fits.
func (a *assessment) pods(fits func(engine.MemberConfig) bool) []string {
	var out []string
	for _, t := range a.traces {
		if fits(t) {
			out = append(out, t.Member)
		}
	}
	return out
}

func (a *assessment) flags() {
	for _, name := range []string{"unsafe-no-fsync", "force-new-cluster"} {
		reason, _ := flags.ManagedBecause(name)
		if pods := a.pods(func(t engine.MemberConfig) bool { return slices.Contains(t.Dangerous, name) }); len(pods) > 0 {
			a.add(engine.Risk{Subject: "flags", What: "it runs with " + name + ": " + reason, Severe: true,
				Evidence: []string{"set on " + strings.Join(pods, ", ")},
				Remedy:   []string{"take the flag away, back up first"}})
		}
	}
}

// versions names known-bad releases. Each is said once, with who runs it.
func (a *assessment) versions() {
	running := map[string][]string{}
	for _, m := range a.view.Members {
		if m.Version != "" {
			running[m.Version] = append(running[m.Version], m.Name)
		}
	}
	releases := slices.Sorted(maps.Keys(running))
	if len(releases) > 1 {
		a.add(engine.Risk{Subject: "version", What: "the members run different versions: " + strings.Join(releases, ", "),
			Remedy: []string{"finish the upgrade, or bring all to one version"}})
	}
	for _, has := range releases {
		v, err := versions.Parse(has)
		if err != nil {
			continue
		}
		seen := []string{has + " runs on " + strings.Join(running[has], ", ")}
		if v.Line().Less(versions.OldestLine) || versions.NewestLine.Less(v.Line()) {
			a.add(engine.Risk{Subject: "version",
				What: fmt.Sprintf("etcd %s is none of those that this tool knows (%s to %s)",
					v.Line(), versions.OldestLine, versions.NewestLine),
				Evidence: seen, Remedy: []string{"its backup can be restored by the same minor or the next one only"}})
			continue
		}
		if v.Less(versions.CreateFloor.At) {
			a.add(belowFloor("it is known to be bad", v, versions.CreateFloor, seen, true))
			continue
		}
		for _, s := range versions.Steps {
			if s.From.Next() == v.Line() && v.Less(s.Target.At) {
				a.add(belowFloor("it is known to be bad", v, s.Target, seen, true))
			}
			if s.From == v.Line() && v.Less(s.Source.At) {
				a.add(belowFloor("it must not go to "+s.From.Next().String()+" yet", v, s.Source, seen, false))
			}
		}
	}
}

func belowFloor(what string, v versions.Version, f versions.Floor, seen []string, severe bool) engine.Risk {
	return engine.Risk{Subject: "version", What: fmt.Sprintf("%s is older than %s, and %s: %s", v, f.At, what, f.Reason),
		Severe: severe, Evidence: append(seen, f.Link), Remedy: []string{"go to the newest patch of " + v.Line().String()}}
}

func (a *assessment) security() {
	if pods := a.pods(func(t engine.MemberConfig) bool { return !t.TLS }); len(pods) > 0 {
		a.add(engine.Risk{Subject: "clients", What: "clients are served in plain text",
			Evidence: []string{strings.Join(pods, ", ")},
			Remedy:   []string{"a cluster made by this tool has TLS: restore a backup into one"}})
	}
	if pods := a.pods(func(t engine.MemberConfig) bool { return !t.PeerTLS && t.Hidden == "" }); len(pods) > 0 &&
		len(a.traces) > 1 {
		a.add(engine.Risk{Subject: "peers", What: "members speak in plain text with each other",
			Evidence: []string{strings.Join(pods, ", ")}})
	}
	off := a.view.Auth() == engine.AuthOff
	open := len(a.pods(func(t engine.MemberConfig) bool { return !t.ClientCertificates })) > 0
	switch {
	case off && open:
		a.add(engine.Risk{Subject: "access",
			What: "everybody who reaches the port may read and write everything: no client certificate is demanded and " +
				"authentication is off", Severe: true})
	case off && len(a.traces) > 0:
		a.add(engine.Risk{Subject: "access",
			What: "authentication is off: each client certificate may read and write everything"})
	}
}

func (a *assessment) space() {
	for _, m := range a.view.Members {
		limit := m.QuotaBytes
		if limit == 0 && m.Reachable {
			// Older versions don't tell it, and serve with what was set, or their default.
			limit = a.quotaSet()
		}
		if limit > 0 && float64(m.DataBytes) >= nearlyFull*float64(limit) {
			a.add(engine.Risk{Subject: "member " + m.Name, What: fmt.Sprintf(
				"its data file is at %d%% of its quota; at 100%% no writes are taken", 100*m.DataBytes/limit), Severe: true,
				Evidence: []string{fmt.Sprintf("%d bytes, %d of them in use, of %d", m.DataBytes, m.UsedBytes, limit)},
				Remedy:   []string{"compact, then defragment"}})
		}
	}
	none := a.pods(func(t engine.MemberConfig) bool {
		retention, ok := t.Options["auto-compaction-retention"]
		return t.Hidden == "" && (!ok || retention == "0" || retention == "")
	})
	if len(none) > 0 {
		a.add(engine.Risk{Subject: "compaction",
			What: "no automatic compaction is set: unless a client compacts, as Kubernetes does, the history grows " +
				"until the quota is reached",
			Evidence: []string{strings.Join(none, ", ")},
			Remedy:   []string{"set auto-compaction-retention, or compact by a client"}})
	}
}

func (a *assessment) quotaSet() int64 {
	for _, t := range a.traces {
		if q, err := flags.ParseQuota(t.Options[flags.QuotaOption]); err == nil {
			return q
		}
	}
	return flags.DefaultQuota
}

// nextMinor lints the flags against the version that an upgrade would go to.
func (a *assessment) nextMinor() {
	said := map[string]bool{}
	for _, t := range a.traces {
		v, err := versions.Parse(a.view.Member(t.Member).Version)
		if err != nil || versions.NewestLine.Less(v.Line().Next()) {
			continue
		}
		next := v.Line().Next()
		for _, name := range slices.Sorted(maps.Keys(t.Options)) {
			o, known := flags.Find(name)
			gone := known && o.Until < next.Minor || !known && versions.NewestLine == next && memberconfig.Experimental(name)
			if !gone || said[name] {
				continue
			}
			said[name] = true
			r := engine.Risk{Subject: "flags", What: fmt.Sprintf("etcd %s does not start with --%s", next, name),
				Remedy: []string{"take it away before that upgrade"}}
			if o.Instead != "" {
				r.Remedy = []string{"before that upgrade use " + o.Instead}
			}
			a.add(r)
		}
	}
}
