package etcd

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

func TestCheckSettings(t *testing.T) {
	t.Parallel()
	full := engine.View{Members: []engine.Member{{Name: "db-1", Reachable: true, DataBytes: 600 * flags.Mebibyte},
		{Name: "db-2"}}}
	for name, c := range map[string]struct {
		size, quota   string
		view          engine.View
		check, reason string
	}{
		"fits":                             {size: "8Gi", view: full},
		"half of the volume is too little": {size: "1Gi", view: full, check: "quota", reason: "db-1 has 629145600 bytes"},
		"nobody was asked yet":             {size: "1Gi"},
		"an own quota that is too little": {size: "8Gi", quota: "104857600", view: full, check: "quota",
			reason: "would not fit"},
		"an own quota beyond the volume": {size: "1Gi", quota: "2147483648", check: "quota",
			reason: "does not fit into the volume"},
		"a volume without room for the log": {size: "100Mi", check: "storage-size", reason: "no room"},
		"no number":                         {size: "1Gi", quota: "much", check: "config", reason: "no positive number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := cluster().Spec
			spec.Version, spec.Storage.Size = "3.6.16", resource.MustParse(c.size)
			if c.quota != "" {
				spec.Config = map[string]string{flags.QuotaOption: c.quota}
			}
			expect(t, New().CheckSettings(c.view, spec, false), c.check, c.reason)
		})
	}
}
