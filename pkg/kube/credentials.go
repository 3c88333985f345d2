package kube

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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

// Passwords is what a password secret holds.
type Passwords struct {
	Current Password
	// Next is set in the middle of a rotation, Former after one.
	Next, Former *Password
}

// Usable are those that may let the user in, the likeliest first.
func (p Passwords) Usable() []Password {
	out := []Password{p.Current}
	for _, more := range []*Password{p.Next, p.Former} {
		if more != nil {
			out = append(out, *more)
		}
	}
	return out
}

// EnsurePassword makes a user's secret, with a password that nobody knows,
// where it or what it holds is missing, and reads it.
func (c *Client) EnsurePassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user string) (Passwords, error) {
	s, err := c.ensureSecret(ctx, cluster, v1alpha1.PasswordSecret(cluster.Name, user), corev1.SecretTypeBasicAuth, objectLabels(cluster, componentDatabase), func() (map[string][]byte, error) {
		return map[string][]byte{corev1.BasicAuthUsernameKey: []byte(user), corev1.BasicAuthPasswordKey: []byte(rand.Text())}, nil
	})
	if err != nil {
		return Passwords{}, err
	}
	if has, err := passwordsOf(s); err == nil {
		return has, nil
	}
	s.Data = map[string][]byte{corev1.BasicAuthUsernameKey: []byte(user), corev1.BasicAuthPasswordKey: []byte(rand.Text())}
	if err := c.api.Update(ctx, s); err != nil {
		return Passwords{}, err
	}
	return passwordsOf(s)
}

// Passwords reads a password secret by its name; ErrNotFound if there is none.
func (c *Client) Passwords(ctx context.Context, namespace, name string) (Passwords, error) {
	s := &corev1.Secret{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		return Passwords{}, err
	}
	return passwordsOf(s)
}

// passwordsOf reads the secret's data. Errors never quote it.
func passwordsOf(s *corev1.Secret) (Passwords, error) {
	pair := func(user, password string) *Password {
		if len(s.Data[user]) == 0 || len(s.Data[password]) == 0 {
			return nil
		}
		return &Password{User: string(s.Data[user]), Password: string(s.Data[password])}
	}
	current := pair(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	if current == nil {
		return Passwords{}, fmt.Errorf("secret %s/%s holds no %s and %s", s.Namespace, s.Name, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	}
	return Passwords{Current: *current, Next: pair(nextUserKey, nextPasswordKey), Former: pair(formerUserKey, formerPasswordKey)}, nil
}

// StagePassword writes down what the rotation is about to set: a new password
// for the user that next names, given the present one. A repeat keeps it; nil
// if the rotation is complete already.
func (c *Client) StagePassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user, rotation string, next func(present string) string) (*Password, error) {
	var staged *Password
	err := c.changePassword(ctx, cluster, user, func(s *corev1.Secret, has Passwords) bool {
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

// TurnPassword makes what was staged the present one. A repeat changes nothing.
func (c *Client) TurnPassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user, rotation string) error {
	return c.changePassword(ctx, cluster, user, func(s *corev1.Secret, has Passwords) bool {
		if has.Next == nil || s.Annotations[annotationRotation] == rotation {
			return false
		}
		s.Data[formerUserKey], s.Data[formerPasswordKey] = s.Data[corev1.BasicAuthUsernameKey], s.Data[corev1.BasicAuthPasswordKey]
		s.Data[corev1.BasicAuthUsernameKey], s.Data[corev1.BasicAuthPasswordKey] = s.Data[nextUserKey], s.Data[nextPasswordKey]
		delete(s.Data, nextUserKey)
		delete(s.Data, nextPasswordKey)
		s.Annotations = merged(s.Annotations, map[string]string{annotationRotation: rotation})
		return true
	})
}

// DropFormerPassword forgets what a rotation replaced. A repeat changes nothing.
func (c *Client) DropFormerPassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user string) error {
	return c.changePassword(ctx, cluster, user, func(s *corev1.Secret, has Passwords) bool {
		delete(s.Data, formerUserKey)
		delete(s.Data, formerPasswordKey)
		return has.Former != nil
	})
}

// changePassword writes a secret of ours back if change says so.
func (c *Client) changePassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user string, change func(*corev1.Secret, Passwords) bool) error {
	s := &corev1.Secret{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.PasswordSecret(cluster.Name, user)}, s); err != nil {
		return err
	}
	if !belongs(s, cluster) {
		return c.foreign("update", s)
	}
	has, err := passwordsOf(s)
	if err != nil || !change(s, has) {
		return err
	}
	return c.api.Update(ctx, s)
}

// DeletePassword deletes a user's secret. A repeat does nothing.
func (c *Client) DeletePassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user string) error {
	s := &corev1.Secret{}
	s.Namespace, s.Name = cluster.Namespace, v1alpha1.PasswordSecret(cluster.Name, user)
	return c.deleteOurs(ctx, cluster.Name, s)
}

// HasPassword reports whether a user has a secret of ours.
func (c *Client) HasPassword(ctx context.Context, cluster *v1alpha1.DatabaseCluster, user string) (bool, error) {
	_, err := c.Passwords(ctx, cluster.Namespace, v1alpha1.PasswordSecret(cluster.Name, user))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
