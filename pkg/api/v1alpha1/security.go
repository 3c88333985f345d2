package v1alpha1

import (
	"cmp"
)

// TLS of a cluster. The zero value is TLS on, with a CA of its own.
//
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || !has(self.caSecret) || size(self.caSecret) == 0",message="name either an issuer or a secret with an authority",fieldPath=".issuer",reason=FieldValueInvalid
type TLS struct {
	// Disabled serves peers and clients in plain text.
	Disabled bool `json:"disabled,omitempty"`
	// CASecret names a secret of type kubernetes.io/tls with an authority of the
	// person's. It is read when the cluster is created and when the authority
	// is rotated, and never changed.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	CASecret string `json:"caSecret,omitempty"`
	// Issuer of cert-manager that signs an authority for this cluster alone. It
	// is asked when the cluster is created and when the authority is rotated.
	Issuer *Issuer `json:"issuer,omitempty"`
}

// Issuer names an issuer of cert-manager.
type Issuer struct {
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Kind is Issuer, of the cluster's namespace, if not set.
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:Pattern=`^([A-Z][A-Za-z0-9]*)?$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// Group is that of cert-manager itself if not set; other issuers have their own.
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// String is kind and name, as a person says it.
func (i Issuer) String() string { return cmp.Or(i.Kind, "Issuer") + " " + i.Name }

// Auth of a cluster's clients.
type Auth struct {
	// Enabled refuses clients that don't log in.
	Enabled bool `json:"enabled,omitempty"`
	// Users that were made besides the administrator and the applications' user.
	// +kubebuilder:validation:MaxItems=1000
	Users []DatabaseUser `json:"users,omitempty"`
}

// DatabaseUser is a user of the database. The password is in a secret alone.
type DatabaseUser struct {
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	Name string `json:"name"`
	// Prefix of the keys that the user may use; "" is every key.
	// +kubebuilder:validation:MaxLength=1024
	Prefix string `json:"prefix,omitempty"`
	// ReadOnly forbids writing.
	ReadOnly bool `json:"readOnly,omitempty"`
}
