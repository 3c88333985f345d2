package postgres

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// mostUser is how many bytes the name of a user may have: the server cuts names after 63 without an error, and what the
// user makes belongs to a role with a longer name.
const mostUser = 55

var _ engine.UserChecker = (*Engine)(nil)

// CheckUser implements engine.UserChecker.
func (*Engine) CheckUser(u v1alpha1.DatabaseUser) error {
	refuse := func(reason, hint string, args ...any) error {
		return &engine.Refusal{Check: "user", Reason: fmt.Sprintf(reason, args...), Hint: hint}
	}
	switch {
	case u.Name == superuser:
		return refuse("agents log in as %s", "choose another name", u.Name)
	case len(u.Name) > mostUser:
		return refuse("the name of user %s has %d bytes, and %d are the most for "+Name, "choose a shorter name", u.Name,
			len(u.Name), mostUser)
	case len(u.Prefix) > mostName:
		return refuse("the name of database %s has %d bytes, and "+Name+" cuts it after %d", "choose a shorter name",
			u.Prefix, len(u.Prefix), mostName)
	case slices.Contains([]string{"postgres", "template0", "template1"}, u.Prefix):
		return refuse("database %s is the server's own", "choose another name", u.Prefix)
	}
	return nil
}
