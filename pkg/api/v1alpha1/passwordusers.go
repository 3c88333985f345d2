package v1alpha1

// PasswordUsers are the users whose passwords are kept in secrets, the
// administrator first; none where nobody has to log in.
func (c *DatabaseCluster) PasswordUsers() []string {
	if !c.Spec.Auth.Enabled {
		return nil
	}
	out := []string{AdminUser, ApplicationUser}
	for _, u := range c.Spec.Auth.Users {
		out = append(out, u.Name)
	}
	return out
}
