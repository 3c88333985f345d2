package etcd

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

func TestCheckCreate(t *testing.T) {
	t.Parallel()
	spec := func(version string, members int32, size string, config map[string]string) v1alpha1.DatabaseClusterSpec {
		return v1alpha1.DatabaseClusterSpec{
			Version: version, Members: members, Config: config,
			Storage: v1alpha1.Storage{Size: resource.MustParse(size)},
		}
	}
	quota := func(bytes string) map[string]string { return map[string]string{flags.QuotaOption: bytes} }
	for _, c := range []struct {
		name          string
		spec          v1alpha1.DatabaseClusterSpec
		force         bool
		check, reason string
	}{
		{name: "three", spec: spec("3.6.16", 3, "8Gi", nil)},
		{name: "no size given", spec: spec("3.6.16", 1, "0", nil)},
		{name: "oldest", spec: spec("3.5.6", 3, "8Gi", nil)},
		{name: "below the floor", spec: spec("3.5.5", 3, "8Gi", nil), force: true, check: "version-floor",
			reason: "issues/13766"},
		{name: "unknown series", spec: spec("3.4.30", 3, "8Gi", nil), check: "version", reason: "3.4"},
		{name: "no version", spec: spec("", 3, "8Gi", nil), check: "version", reason: "parse"},
		{name: "none", spec: spec("3.6.16", 0, "8Gi", nil), force: true, check: "members", reason: "1 to 7"},
		{name: "nine", spec: spec("3.6.16", 9, "8Gi", nil), force: true, check: "members", reason: "1 to 7"},
		{name: "even", spec: spec("3.6.16", 4, "8Gi", nil), check: "even-members", reason: "no more failures than 3"},
		{name: "even, waived", spec: spec("3.6.16", 4, "8Gi", nil), force: true},
		{name: "small", spec: spec("3.6.16", 3, "256Mi", nil), check: "storage-size", reason: "256Mi"},
		{name: "small, waived", spec: spec("3.6.16", 3, "256Mi", nil), force: true},
		{name: "quota of the volume", spec: spec("3.6.16", 3, "1Gi", quota("1073741824")), force: true, check: "quota",
			reason: "does not fit"},
		{name: "quota above the advice", spec: spec("3.6.16", 3, "100Gi", quota("10737418240")), check: "quota",
			reason: "8 GiB"},
		{name: "quota above the advice, waived", spec: spec("3.6.16", 3, "100Gi", quota("10737418240")), force: true},
		{name: "quota in words", spec: spec("3.6.16", 3, "8Gi", quota("2GiB")), check: "config",
			reason: "no positive number"},
		{name: "managed option", spec: spec("3.6.16", 3, "8Gi", map[string]string{"name": "x"}), check: "config",
			reason: "managed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckCreate(c.spec, c.force), c.check, c.reason)
		})
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]int64{
		"0": flags.DefaultQuota, "1Gi": 512 * flags.Mebibyte, "8Gi": 4096 * flags.Mebibyte, "16Gi": flags.MaxQuota,
		"1Ti": flags.MaxQuota,
	} {
		got, err := flags.Quota(v1alpha1.DatabaseClusterSpec{Storage: v1alpha1.Storage{Size: resource.MustParse(size)}})
		if err != nil || got != want {
			t.Errorf("quota on %s is %d (%v), want %d", size, got, err, want)
		}
	}
}
