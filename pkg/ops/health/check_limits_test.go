package health

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestCheckComparesWithLimitRanges: what the API server would refuse is said before, with the figures.
func TestCheckComparesWithLimitRanges(t *testing.T) {
	list := func(name corev1.ResourceName, amount string) corev1.ResourceList {
		return corev1.ResourceList{name: resource.MustParse(amount)}
	}
	memory := corev1.ResourceRequirements{Requests: list("memory", "1Gi"), Limits: list("memory", "1Gi")}
	for name, c := range map[string]struct {
		item     corev1.LimitRangeItem
		cluster  string
		asked    corev1.ResourceRequirements
		unknown  string
		severity ops.Severity
		says     string
	}{
		"nothing":    {severity: ops.OK, says: "none refuses"},
		"unreadable": {unknown: "you may not list limitranges", severity: ops.Warn, says: "not examined"},
		"within": {item: corev1.LimitRangeItem{Type: "Container", Max: list("memory", "2Gi")}, asked: memory,
			severity: ops.OK, says: "none refuses"},
		"above the most": {item: corev1.LimitRangeItem{Type: "Container", Max: list("memory", "600Mi")}, asked: memory,
			cluster: "db", severity: ops.Fail,
			says: "memory of a Container: 1Gi is above the most, 600Mi | kubectl dbop resize db --memory AMOUNT"},
		"below the least": {item: corev1.LimitRangeItem{Type: "Container", Min: list("memory", "2Gi")}, asked: memory,
			severity: ops.Fail,
			says:     "1Gi is below the least, 2Gi | create with a --memory"},
		"defaults apply": {item: corev1.LimitRangeItem{Type: "Container", Min: list("cpu", "10m"),
			DefaultRequest: list("cpu", "20m")}, severity: ops.OK, says: "none refuses"},
		"no limit in a pod": {item: corev1.LimitRangeItem{Type: "Pod", Max: list("memory", "2Gi")}, severity: ops.Fail,
			says: "a limit of at most 2Gi must be set"},
		"ratio": {item: corev1.LimitRangeItem{Type: "Container", MaxLimitRequestRatio: list("memory", "2")}, asked: memory,
			severity: ops.Warn,
			says: "scheduled backup would be refused: limitrange bounds, memory of a Container: the limit, 512Mi, " +
				"may be at most 2 times the request, 64Mi"},
		"a small volume": {item: corev1.LimitRangeItem{Type: "PersistentVolumeClaim", Min: list("storage", "10Gi")},
			severity: ops.Fail,
			says:     "1Gi is below the least, 10Gi | create with a --storage"},
		"a large volume": {item: corev1.LimitRangeItem{Type: "PersistentVolumeClaim", Max: list("storage", "500Mi")},
			severity: ops.Fail, says: "1Gi is above the most, 500Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			s := readySite()
			s.Member = MemberSite{Cluster: c.cluster, Resources: c.asked, Storage: resource.MustParse("1Gi")}
			s.Kube.LimitsUnknown = c.unknown
			if c.item.Type != "" {
				s.Kube.Limits = []preflight.Limit{{Range: "bounds", LimitRangeItem: c.item}}
			}
			for _, f := range Check(s) {
				if f.Subject == "limit range" && f.Severity == c.severity && strings.Contains(text(f), c.says) {
					return
				}
			}
			t.Errorf("want %s with %q in %+v", c.severity, c.says, Check(s))
		})
	}
}
