package v1alpha1

// InitialSQL is what an empty database is given once, before its creation ends.
type InitialSQL struct {
	// Secret names a secret of the same namespace. Those of its entries whose names end in .sql are carried out in the
	// order of these names, all in one transaction.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret"`
	// User is one of auth.users. It is carried out in the database of this user, and what it makes belongs to the user's
	// role; the applications' user if it is empty.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`
	User string `json:"user,omitempty"`
}

// Owner is the user in whose database it is carried out.
func (i *InitialSQL) Owner() string {
	if i.User == "" {
		return ApplicationUser
	}
	return i.User
}
