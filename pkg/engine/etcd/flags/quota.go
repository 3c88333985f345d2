package flags

import (
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

const Mebibyte = 1 << 20

const (
	QuotaOption = "quota-backend-bytes"
	// MaxQuota is the largest data file that etcd advises,
	// https://etcd.io/docs/v3.6/dev-guide/limit/.
	MaxQuota = 8192 * Mebibyte
	// DefaultQuota is etcd's own.
	DefaultQuota = 2048 * Mebibyte
)

// Quota is the most that the data file of a member may hold: what the
// options say, else half of the volume. The other half is for the log, and
// for the second copy that a defragmentation or a received snapshot writes
// next to the data file; a full database cannot be repaired without it.
func Quota(spec v1alpha1.DatabaseClusterSpec) (int64, error) {
	if s, ok := spec.Config[QuotaOption]; ok {
		return ParseQuota(s)
	}
	size := spec.Storage.Size.Value()
	if size <= 0 {
		return DefaultQuota, nil
	}
	return min(MaxQuota, size/2), nil
}

// ParseQuota reads the option that limits the data file, in bytes.
func ParseQuota(s string) (int64, error) {
	q, err := strconv.ParseInt(s, 10, 64)
	if err != nil || q <= 0 {
		return 0, refusal.New("config", "write "+QuotaOption+" as a number of bytes",
			"option %s has the value %q, which is no positive number of bytes", QuotaOption, s)
	}
	return q, nil
}
