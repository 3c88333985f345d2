package etcd

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// minVolume holds etcd's preallocated log files (64 MiB each, up to eight at
// a time while one is purged) and leaves something for data.
const minVolume = 512 * flags.Mebibyte

// CheckCreate implements engine.Rules. force waives an even size, a small
// volume and a quota above etcd's advice; it does not waive what cannot work.
func (*Engine) CheckCreate(spec v1alpha1.DatabaseClusterSpec, force bool) error {
	v, err := versions.Supported(spec.Version)
	if err != nil {
		return err
	}
	if v.Less(versions.CreateFloor.At) {
		return refusal.New("version-floor", "choose "+versions.CreateFloor.At.String()+" or newer",
			"etcd %s is older than %s: %s (%s)", v, versions.CreateFloor.At, versions.CreateFloor.Reason,
			versions.CreateFloor.Link)
	}
	if spec.Members < 1 || spec.Members > maxMembers {
		return refusal.New("members", "choose 1, 3, 5 or 7 members",
			"a cluster of %d members was asked for and etcd takes 1 to %d", spec.Members, maxMembers)
	}
	if spec.Members%2 == 0 && !force {
		return refusal.New("even-members",
			fmt.Sprintf("choose %d members, or waive the check with --force", spec.Members+1),
			"%d members tolerate no more failures than %d and one more can fail", spec.Members, spec.Members-1)
	}
	if err := flags.Lint(spec.Config, v); err != nil {
		return err
	}
	return checkStorage(spec, force)
}

// checkStorage compares the volume with the most that etcd may write into it.
func checkStorage(spec v1alpha1.DatabaseClusterSpec, force bool) error {
	size := spec.Storage.Size.Value()
	if size == 0 {
		return nil
	}
	if size < minVolume && !force {
		return refusal.New("storage-size", "choose --storage "+resource.NewQuantity(minVolume, resource.BinarySI).String()+
			" or more, or waive the check with --force",
			"a volume of %s has no room for etcd's log", spec.Storage.Size.String())
	}
	q, err := flags.Quota(spec)
	if err != nil {
		return err
	}
	if q >= size {
		return refusal.New("quota", "choose a smaller "+flags.QuotaOption+" or a larger volume",
			"the quota of %d bytes does not fit into the volume of %s", q, spec.Storage.Size.String())
	}
	if q > flags.MaxQuota && !force {
		return refusal.New("quota", "choose at most "+strconv.Itoa(flags.MaxQuota)+", or waive the check with --force",
			"a quota of %d bytes is above the 8 GiB that etcd advises (https://etcd.io/docs/v3.6/dev-guide/limit/)", q)
	}
	return nil
}
