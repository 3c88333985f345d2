package repositories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// sign makes the key that signs, or another one in its place; the former one stays trusted.
func (a *addFlags) sign(namespace string, d *bucket.Description, secrets bucket.Secrets) error {
	if len(secrets[bucket.FileSigningKey]) > 0 && !a.newSigner {
		return nil
	}
	a.formerSigner = secrets[bucket.FileSigningKey]
	secret, public, err := archive.NewSigner(namespace + "/" + d.Name)
	if err != nil {
		return err
	}
	secrets[bucket.FileSigningKey] = []byte(secret)
	d.Trusted = append(slices.Clone(d.Trusted), public)
	return nil
}

// distrustKeys takes former keys out of those that are trusted. That in force stays: what it signs would be refused.
func (a *addFlags) distrustKeys(d *bucket.Description, secrets bucket.Secrets) error {
	if len(a.distrust) == 0 {
		return nil
	}
	inForce, err := archive.SignerID(string(secrets[bucket.FileSigningKey]))
	if err != nil {
		return err
	}
	for _, id := range a.distrust {
		if id == inForce {
			again := command.DisplayName + " repository add " + d.Name + " --url " + d.URL
			return &ops.Error{Kind: ops.Refused, Check: "signing-key",
				Message: "key " + id + " signs what is backed up now, so all of that would be refused; nothing was changed",
				Hint: again + " --new-signing-key makes another one; some minutes later, once the backups that run then have " +
					"ended, " + again + " --distrust " + id}
		}
		left := slices.DeleteFunc(slices.Clone(d.Trusted), func(public string) bool {
			have, err := archive.KeyID(public)
			return err == nil && have == id
		})
		if len(left) == len(d.Trusted) {
			return exit.Misuse("--distrust: no key %.40q is trusted; these are: %s", id, strings.Join(trustedIDs(*d), ", "))
		}
		d.Trusted = left
	}
	return nil
}

// saveTrusted has the new key be trusted before anybody signs with it: a crash between the two leaves a key that signs
// nothing, and no backup that is refused.
func (a *addFlags) saveTrusted(ctx context.Context, named clients.Named, namespace string, d bucket.Description,
	secrets bucket.Secrets) error {
	if len(a.formerSigner) == 0 {
		return nil
	}
	former := maps.Clone(secrets)
	former[bucket.FileSigningKey] = a.formerSigner
	return named.Save(ctx, namespace, d, former)
}

// trustedIDs are the IDs of the keys whose signatures count.
func trustedIDs(d bucket.Description) []string {
	out := make([]string, len(d.Trusted))
	for i, public := range d.Trusted {
		id, err := archive.KeyID(public)
		if err != nil {
			id = "unreadable"
		}
		out[i] = id
	}
	return out
}

// signingKeys says which key signs and which ones are trusted.
func signingKeys(d bucket.Description, secrets bucket.Secrets) string {
	inForce, err := archive.SignerID(string(secrets[bucket.FileSigningKey]))
	if err != nil {
		inForce = "none"
	}
	return fmt.Sprintf("signs with %s; trusts %s", inForce, strings.Join(trustedIDs(d), ", "))
}
