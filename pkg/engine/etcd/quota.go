package etcd

import (
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const mebibyte = 1 << 20

const (
	quotaOption = "quota-backend-bytes"
	// maxQuota is the largest data file that etcd advises,
	// https://etcd.io/docs/v3.6/dev-guide/limit/.
	maxQuota = 8192 * mebibyte
	// defaultQuota is etcd's own.
	defaultQuota = 2048 * mebibyte
)

// quota is the most that the data file of a member may hold: what the
// options say, else half of the volume. The other half is for the log, and
// for the second copy that a defragmentation or a received snapshot writes
// next to the data file; a full database cannot be repaired without it.
func quota(spec v1alpha1.DatabaseClusterSpec) (int64, error) {
	if s, ok := spec.Config[quotaOption]; ok {
		return parseQuota(s)
	}
	size := spec.Storage.Size.Value()
	if size <= 0 {
		return defaultQuota, nil
	}
	return min(maxQuota, size/2), nil
}

func parseQuota(s string) (int64, error) {
	q, err := strconv.ParseInt(s, 10, 64)
	if err != nil || q <= 0 {
		return 0, refuse("config", "write "+quotaOption+" as a number of bytes",
			"option %s has the value %q, which is no positive number of bytes", quotaOption, s)
	}
	return q, nil
}
