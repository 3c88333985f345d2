// Package v1alpha1 holds the objects that a person and the tool agree on: a
// DatabaseCluster says what is wanted, an Operation says what was asked for
// once and how far it came. Both are plain serialisable objects; whether they
// live in a ConfigMap or in a custom resource is the store's business alone.
//
// +kubebuilder:object:generate=true
// +groupName=dbop.dev
package v1alpha1
