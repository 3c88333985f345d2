package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the group and version of this API.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "dbop.dev", Version: "v1alpha1"}
}

// The kinds that an operator serves.
const (
	KindDatabaseCluster = "DatabaseCluster"
	KindDatabaseBackup  = "DatabaseBackup"
)

// AddToScheme registers what is served as custom resources.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &DatabaseCluster{}, &DatabaseClusterList{}, &DatabaseBackup{}, &DatabaseBackupList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
