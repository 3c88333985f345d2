package engine

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Credentials are what a user of the database logs in with.
type Credentials struct{ User, Password string }

// String keeps the password out of whatever is printed.
func (c Credentials) String() string { return c.User + ":<password>" }

// GoString is String, for %#v.
func (c Credentials) GoString() string { return c.String() }

// User is a user of the database.
type User struct {
	Name string `json:"name"`
	// Admin may do everything, and manages the others.
	Admin bool `json:"admin,omitempty"`
	// Role holds the user's grants; names that a rotation alternates share one. "" for Admin.
	Role   string  `json:"role,omitempty"`
	Grants []Grant `json:"grants,omitempty"`
}

// Grant lets a user read, or read and write, the keys below a prefix; "" is
// every key.
type Grant struct {
	Prefix   string `json:"prefix"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// UserLister is what a Session also is if its engine has users.
type UserLister interface {
	// Users lists the users with what they may do, by name.
	Users(ctx context.Context) ([]User, error)
}

// UserJudge is what a Session also is that can tell what EnsureUser would do.
type UserJudge interface {
	// HasUser says whether EnsureUser would leave a user as it is, but for its password. It changes nothing. An error
	// means that it is not known.
	HasUser(ctx context.Context, u User) (bool, error)
}

// Authenticator is what a Session also is if its engine can demand that
// clients log in. Member.Auth tells whether it does.
type Authenticator interface {
	UserLister
	// EnsureUser makes the user, with that password and these grants and no
	// others. A password that is the user's already is not set again: setting it
	// ends what is logged in.
	EnsureUser(ctx context.Context, u User, password string) error
	// DeleteUser removes a user, and its role once nobody has it.
	DeleteUser(ctx context.Context, name string) error
	// EnableAuth demands from now on that clients log in; DisableAuth ends that.
	EnableAuth(ctx context.Context) error
	DisableAuth(ctx context.Context) error
	// ProveAuth asks, without changing anything, whether the administrator may
	// do everything, whether the client of that access may read and write every
	// key, and whether nobody without a name may.
	ProveAuth(ctx context.Context, client Access) error
}

// UserChecker is what an Engine also is if it has rules of its own for users.
type UserChecker interface {
	// CheckUser judges a user that is to be made by its name and what it may use. What the database would not take as it
	// is written is a Refusal.
	CheckUser(u v1alpha1.DatabaseUser) error
}

// SQLRunner is what a Session also is if users of its engine have databases that speak SQL.
type SQLRunner interface {
	// RunOnce carries out statements in the database of a user, who owns what they make, in one transaction. A database
	// in which that was done before is left as it is, whatever the statements are; after a crash all of them are done or
	// none. What the database does not accept is a Refusal, which names the line.
	RunOnce(ctx context.Context, as User, statements string) error
}

// LoginTester is what a Session also is if its engine can tell whether a user
// may log in with a password.
type LoginTester interface {
	// TestLogin asks the database whether it accepts these credentials. An error
	// means that it could not be asked. It changes nothing.
	TestLogin(ctx context.Context, as Credentials) (accepted bool, err error)
}

// Unlocker is what an Engine also is if a restored data directory may demand
// credentials that nobody has any more.
type Unlocker interface {
	// Unlock ends in a data directory, that no process uses, the demand to log
	// in. Only for throw-away copies that nobody else can reach.
	Unlock(dataDir string) error
}
