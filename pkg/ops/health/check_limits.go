package health

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// MemberSite is what a member would ask a namespace for.
type MemberSite struct {
	// Cluster is its name; "" for one that is not there yet.
	Cluster   string                      `json:"cluster,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources"`
	Storage   resource.Quantity           `json:"storage"`
}

// limits compares members, their volumes and the pods of scheduled backups
// with the LimitRanges of the namespace: the API server refuses what breaks one.
func (c *siteCheck) limits() {
	f := ops.Finding{Severity: ops.OK, Subject: "limit range",
		What: "none refuses a member, its volume or a scheduled backup"}
	all, m := c.s.Kube.Limits, c.s.Member
	if unknown := c.s.Kube.LimitsUnknown; unknown != "" {
		f.Severity, f.What, f.Evidence = ops.Warn, "not examined: limit ranges can't be read", []string{unknown}
		c.add(f)
		return
	}
	member := brokenLimits(all, corev1.LimitTypeContainer, withDefaults(m.Resources, all))
	member = append(member, brokenLimits(all, corev1.LimitTypePod, withDefaults(m.Resources, all))...)
	storage := corev1.ResourceList{corev1.ResourceStorage: m.Storage}
	member = append(member, brokenLimits(all, corev1.LimitTypePersistentVolumeClaim,
		corev1.ResourceRequirements{Requests: storage, Limits: storage})...)
	backup := withDefaults(workload.ScheduleResources(), all)
	scheduled := append(brokenLimits(all, corev1.LimitTypeContainer, backup),
		brokenLimits(all, corev1.LimitTypePod, backup)...)
	for _, b := range member {
		c.add(ops.Finding{Severity: ops.Fail, Subject: f.Subject, What: "a member would be refused: " + b.text,
			Remedy: []string{m.remedy(b), b.lift()}})
	}
	for _, b := range scheduled {
		c.add(ops.Finding{Severity: ops.Warn, Subject: f.Subject, What: "the pod of a scheduled backup would be refused: " +
			b.text, Remedy: []string{b.lift()}})
	}
	if len(member)+len(scheduled) == 0 {
		c.add(f)
	}
}

// brokenLimit is one bound that would be broken.
type brokenLimit struct {
	limit, text string
	resource    corev1.ResourceName
}

func (b brokenLimit) lift() string {
	return "ask an administrator: kubectl edit limitrange " + b.limit
}

// remedy is what to ask for instead.
func (m MemberSite) remedy(b brokenLimit) string {
	flag := map[corev1.ResourceName]string{corev1.ResourceCPU: "--cpu", corev1.ResourceMemory: "--memory",
		corev1.ResourceStorage: "--storage"}[b.resource]
	switch {
	case flag == "":
		return "no flag sets " + string(b.resource)
	case m.Cluster == "":
		return "create with a " + flag + " within these bounds"
	}
	return fmt.Sprintf("kubectl dbop resize %s %s AMOUNT, with an amount within these bounds", m.Cluster, flag)
}

// withDefaults is what the API server makes of a container that asks for that.
func withDefaults(asked corev1.ResourceRequirements, limits []preflight.Limit) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	maps.Copy(out.Requests, asked.Limits) // a limit alone is the request, too
	maps.Copy(out.Requests, asked.Requests)
	maps.Copy(out.Limits, asked.Limits)
	for _, l := range limits {
		if l.Type == corev1.LimitTypeContainer {
			fill(out.Requests, l.DefaultRequest)
			fill(out.Limits, l.Default)
		}
	}
	return out
}

// fill sets what is not set.
func fill(list, defaults corev1.ResourceList) {
	for name, amount := range defaults {
		if _, set := list[name]; !set {
			list[name] = amount
		}
	}
}

// brokenLimits finds what breaks the bounds of one type.
func brokenLimits(limits []preflight.Limit, of corev1.LimitType, have corev1.ResourceRequirements) []brokenLimit {
	var out []brokenLimit
	for _, l := range limits {
		if l.Type != of {
			continue
		}
		add := func(name corev1.ResourceName, format string, args ...any) {
			out = append(out, brokenLimit{limit: l.Range, resource: name,
				text: fmt.Sprintf("limitrange %s, %s of a %s: ", l.Range, name, of) + fmt.Sprintf(format, args...)})
		}
		for _, name := range slices.Sorted(maps.Keys(l.Min)) {
			least := l.Min[name]
			if request, set := have.Requests[name]; !set {
				add(name, "at least %s must be requested, and nothing is", least.String())
			} else if request.Cmp(least) < 0 {
				add(name, "%s is below the least, %s", request.String(), least.String())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(l.Max)) {
			most, limit, request := l.Max[name], have.Limits[name], have.Requests[name]
			if _, set := have.Limits[name]; !set {
				add(name, "a limit of at most %s must be set, and none is", most.String())
			} else if limit.Cmp(most) > 0 {
				add(name, "%s is above the most, %s", limit.String(), most.String())
			} else if request.Cmp(most) > 0 {
				add(name, "%s is above the most, %s", request.String(), most.String())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(l.MaxLimitRequestRatio)) {
			most, limit, request := l.MaxLimitRequestRatio[name], have.Limits[name], have.Requests[name]
			if request.IsZero() || limit.IsZero() ||
				limit.AsApproximateFloat64() > most.AsApproximateFloat64()*request.AsApproximateFloat64() {
				add(name, "the limit, %s, may be at most %s times the request, %s", limit.String(), most.String(),
					request.String())
			}
		}
	}
	return out
}
