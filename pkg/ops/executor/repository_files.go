package executor

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// claimVolume is the name of the volume with the claim of a repository.
const claimVolume = "claim"

// repositoryFiles are what a pod opens a repository with that has a name: its description and keys, and its claim.
func repositoryFiles(d bucket.Description, identity, writable bool) []helperpod.Files {
	files := []helperpod.Files{{Volume: repositories.Volume("repository", d, identity), Path: helper.MountedRepository}}
	at, ok := d.Claim()
	if !ok {
		return files
	}
	claim := workload.ClaimVolume(claimVolume, at.Claim)
	// The kubelet gives a volume that can't be written to no other group, whatever user the pod has.
	claim.PersistentVolumeClaim.ReadOnly = !writable
	return append(files, helperpod.Files{Volume: claim, Path: bucket.MountedClaim, Writable: writable})
}

// sameNode is the claim of a repository whose pods run on one node; "" for any node.
func sameNode(d bucket.Description) string {
	if at, ok := d.Claim(); ok && d.OneNode {
		return at.Claim
	}
	return ""
}
