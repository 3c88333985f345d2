package v1alpha1

// Source is what a cluster begins as a copy of: a server that something else made, or a cluster of the same namespace.
//
// +kubebuilder:validation:XValidation:rule="(has(self.address) && size(self.address) > 0) != (has(self.cluster) && size(self.cluster) > 0)",message="a source is an address or a cluster",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.cluster) || size(self.cluster) == 0 || ![has(self.user), has(self.secret), has(self.tls)].exists(x, x)",message="user, secret and tls are of a server that an address names",reason=FieldValueInvalid
type Source struct {
	// Address is HOST:PORT, as the members reach it.
	// +kubebuilder:validation:Pattern=`^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\]):[0-9]{1,5})?$`
	// +kubebuilder:validation:MaxLength=262
	Address string `json:"address,omitempty"`
	// Cluster is one of this namespace that the new one is to take the place of. The new one has its authority, its
	// passwords and the names of its services in the certificates, so that clients notice no difference.
	// +kubebuilder:validation:Pattern=`^([a-z]([-a-z0-9]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=40
	Cluster string `json:"cluster,omitempty"`
	// User is whom the members log in as; the default user if it is empty.
	// +kubebuilder:validation:Pattern=`^[^[:space:][:cntrl:]]*$`
	// +kubebuilder:validation:MaxLength=128
	User string `json:"user,omitempty"`
	// Secret names a secret with what the server asks for: password, and for TLS ca.crt, tls.crt and tls.key. What is not
	// in it is not used.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`
	// TLS encrypts the connection.
	TLS bool `json:"tls,omitempty"`
}

// String is how texts call it.
func (s *Source) String() string {
	if s.Cluster != "" {
		return "cluster " + s.Cluster
	}
	return s.Address
}

// Predecessor is the cluster whose place this one is to take; "" for none.
func (c *DatabaseCluster) Predecessor() string {
	if c.Spec.Source == nil {
		return ""
	}
	return c.Spec.Source.Cluster
}

// Managed reports whether the cluster, as its record says, is under a custom resource.
func (c *DatabaseCluster) Managed() bool { return c.Annotations[AnnotationCustom] != "" }
