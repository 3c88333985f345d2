module github.com/dbop-dev/kubectl-dbop/hack/cluster

go 1.26.0

require (
	github.com/google/go-containerregistry v0.22.1
	golang.org/x/sys v0.40.0
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	sigs.k8s.io/sig-storage-lib-external-provisioner/v13 v13.0.0
)
