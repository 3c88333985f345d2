// Package password keeps the passwords of database users in secrets, and rotates
// them.
package password

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// The keys of a password secret beside username and password. What a rotation
// is about to set is kept first, so that a crash loses no password; what it
// replaced is kept because backups may still demand it.
const (
	nextUserKey       = "next-username"
	nextPasswordKey   = "next-password"
	formerUserKey     = "former-username"
	formerPasswordKey = "former-password"
)

// annotationRotation names the operation that rotated a secret last.
const annotationRotation = "dbop.dev/rotation"

// Password is what a user logs in with. It prints without the password.
type Password struct{ User, Password string }

// String implements fmt.Stringer.
func (p Password) String() string { return p.User + ":<password>" }

// GoString implements fmt.GoStringer.
func (p Password) GoString() string { return p.String() }

// Set is what a password secret holds.
type Set struct {
	Current Password
	// Next is set in the middle of a rotation, Former after one.
	Next, Former *Password
}

// Usable are those that may let the user in, the likeliest first.
func (p Set) Usable() []Password {
	out := []Password{p.Current}
	for _, more := range []*Password{p.Next, p.Former} {
		if more != nil {
			out = append(out, *more)
		}
	}
	return out
}

// Entries are what a secret holds beside a password, by key; nil is nothing.
type Entries func(Password) map[string]string

// write writes the entries of the present password, and says whether that changes the secret.
func (e Entries) write(s *corev1.Secret, p Password) (changed bool) {
	if e == nil {
		return false
	}
	for key, value := range e(p) {
		if string(s.Data[key]) != value {
			s.Data[key], changed = []byte(value), true
		}
	}
	return changed
}

// Ensure makes a user's secret, with a password that nobody knows,
// where it or what it holds is missing, and reads it.
func Ensure(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string,
	more Entries) (Set, error) {
	s, err := c.EnsureSecret(ctx, cluster, v1alpha1.PasswordSecret(cluster.Name, user), corev1.SecretTypeBasicAuth,
		kube.ObjectLabels(cluster, kube.ComponentDatabase), func() (map[string][]byte, error) {
			return first(ctx, c, cluster, user, more)
		})
	if err != nil {
		return Set{}, err
	}
	has, err := FromSecret(s)
	if err == nil && !more.write(s, has.Current) {
		return has, nil
	}
	if err != nil {
		s.Data = fresh(user, more)
	}
	if err := c.API.Update(ctx, s); err != nil {
		return Set{}, err
	}
	return FromSecret(s)
}

// first is the data of a new secret. A cluster that takes the place of another one has the passwords of that one: its
// users come along with them.
func first(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string,
	more Entries) (map[string][]byte, error) {
	former := cluster.Predecessor()
	if former == "" {
		return fresh(user, more), nil
	}
	has, err := ForLogin(ctx, c, cluster, v1alpha1.PasswordSecret(former, user))
	if errors.Is(err, kube.ErrNotFound) {
		return fresh(user, more), nil
	}
	if err != nil {
		return nil, err
	}
	return data(has.Current, more), nil
}

// fresh is the data of a secret with a new password.
func fresh(user string, more Entries) map[string][]byte {
	return data(Password{User: user, Password: rand.Text()}, more)
}

func data(p Password, more Entries) map[string][]byte {
	s := &corev1.Secret{Data: map[string][]byte{corev1.BasicAuthUsernameKey: []byte(p.User),
		corev1.BasicAuthPasswordKey: []byte(p.Password)}}
	more.write(s, p)
	return s.Data
}

// Get reads a password secret by its name; ErrNotFound if there is none.
func Get(ctx context.Context, c *kube.Client, namespace, name string) (Set, error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		return Set{}, err
	}
	return FromSecret(s)
}

// FromSecret reads the secret's data. Errors never quote it.
func FromSecret(s *corev1.Secret) (Set, error) {
	pair := func(user, password string) *Password {
		if len(s.Data[user]) == 0 || len(s.Data[password]) == 0 {
			return nil
		}
		return &Password{User: string(s.Data[user]), Password: string(s.Data[password])}
	}
	current := pair(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	if current == nil {
		return Set{}, fmt.Errorf("secret %s/%s holds no %s and %s", s.Namespace, s.Name, corev1.BasicAuthUsernameKey,
			corev1.BasicAuthPasswordKey)
	}
	return Set{Current: *current, Next: pair(nextUserKey, nextPasswordKey), Former: pair(formerUserKey,
		formerPasswordKey)}, nil
}

// Stage writes down what the rotation is about to set: a new password
// for the user that next names, given the present one. A repeat keeps it; nil
// if the rotation is complete already.
func Stage(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user, rotation string,
	next func(present string) string) (*Password, error) {
	var staged *Password
	err := changePassword(ctx, c, cluster, user, func(s *corev1.Secret, has Set) bool {
		if s.Annotations[annotationRotation] == rotation {
			return false
		}
		if staged = has.Next; staged != nil {
			return false
		}
		staged = &Password{User: next(has.Current.User), Password: rand.Text()}
		s.Data[nextUserKey], s.Data[nextPasswordKey] = []byte(staged.User), []byte(staged.Password)
		return true
	})
	return staged, err
}

// Promote makes what was staged the present one. A repeat changes nothing.
func Promote(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user, rotation string,
	more Entries) error {
	return changePassword(ctx, c, cluster, user, func(s *corev1.Secret, has Set) bool {
		if has.Next == nil || s.Annotations[annotationRotation] == rotation {
			return false
		}
		s.Data[formerUserKey], s.Data[formerPasswordKey] = s.Data[corev1.BasicAuthUsernameKey],
			s.Data[corev1.BasicAuthPasswordKey]
		s.Data[corev1.BasicAuthUsernameKey], s.Data[corev1.BasicAuthPasswordKey] = s.Data[nextUserKey],
			s.Data[nextPasswordKey]
		delete(s.Data, nextUserKey)
		delete(s.Data, nextPasswordKey)
		more.write(s, *has.Next)
		s.Annotations = kube.Merged(s.Annotations, map[string]string{annotationRotation: rotation})
		return true
	})
}

// DropFormer forgets what a rotation replaced. A repeat changes nothing.
func DropFormer(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string) error {
	return changePassword(ctx, c, cluster, user, func(s *corev1.Secret, has Set) bool {
		delete(s.Data, formerUserKey)
		delete(s.Data, formerPasswordKey)
		return has.Former != nil
	})
}

// changePassword writes a secret of ours back if change says so.
func changePassword(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string,
	change func(*corev1.Secret, Set) bool) error {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.PasswordSecret(cluster.Name,
		user)}, s); err != nil {
		return err
	}
	if !kube.BelongsTo(s, cluster) {
		return c.ForeignError("update", s)
	}
	has, err := FromSecret(s)
	if err != nil || !change(s, has) {
		return err
	}
	return c.API.Update(ctx, s)
}

// Delete deletes a user's secret. A repeat does nothing.
func Delete(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string) error {
	s := &corev1.Secret{}
	s.Namespace, s.Name = cluster.Namespace, v1alpha1.PasswordSecret(cluster.Name, user)
	return c.DeleteOwned(ctx, cluster.Name, s)
}

// Whole reads a user's secret, and reports whether Ensure would change nothing of it. False where it can't be read.
func Whole(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string,
	more Entries) (Set, bool) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.PasswordSecret(cluster.Name,
		user)}, s); err != nil || !kube.BelongsTo(s, cluster) {
		return Set{}, false
	}
	has, err := FromSecret(s)
	return has, err == nil && !more.write(s, has.Current)
}

// Exists reports whether a user has a secret of ours.
func Exists(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, user string) (bool, error) {
	_, err := Get(ctx, c, cluster.Namespace, v1alpha1.PasswordSecret(cluster.Name, user))
	if errors.Is(err, kube.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ForLogin reads a password secret to log in to a cluster with: one of
// the cluster's own, or one that its object names. ErrNotFound if there is none.
func ForLogin(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name string) (Set, error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, s); err != nil {
		return Set{}, err
	}
	if err := c.Behalf.CheckSecret(ctx, s, cluster); err != nil {
		return Set{}, err
	}
	return FromSecret(s)
}
