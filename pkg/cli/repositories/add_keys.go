package repositories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// secrets are those that are there, and what was given.
func (a *addFlags) secrets(ctx context.Context, f *command.Factory, named clients.Named, namespace string,
	d *bucket.Description, added bool) (bucket.Secrets, error) {
	given := bucket.Secrets{}
	_, claim := d.Claim()
	switch {
	case claim && (a.fromEnv || a.secret != "" || a.workload):
		return nil, exit.Misuse("a claim takes no credentials: leave --secret, --from-env and --workload-identity out")
	case claim:
	case a.fromEnv:
		var err error
		if given, err = fromEnv(f, *d); err != nil {
			return nil, err
		}
		if len(given) == 0 {
			return nil, exit.Misuse("--from-env: the environment has none of %s", strings.Join(d.CredentialNames(), ", "))
		}
		d.Credentials = v1alpha1.Repository(d.Name)
	case a.secret != "":
		d.Credentials = a.secret
	case a.workload:
		d.Credentials = ""
	case added:
		return nil, exit.Misuse("say where the credentials are: --secret NAME, --from-env or --workload-identity")
	}
	have, err := named.Secrets(ctx, namespace, *d)
	if err != nil {
		return nil, err
	}
	maps.Copy(have, given)
	return have, nil
}

// fromEnv takes what the environment has; a file that it names is read.
func fromEnv(f *command.Factory, d bucket.Description) (bucket.Secrets, error) {
	given := bucket.Secrets{}
	for _, name := range d.CredentialNames() {
		if value := f.Getenv(name); value != "" {
			given[name] = []byte(value)
			continue
		}
		variable, named := bucket.CredentialFile(name)
		file := f.Getenv(variable)
		if !named || file == "" {
			continue
		}
		content, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("--from-env: read the file that %s names: %w", variable, err)
		}
		given[name] = content
	}
	return given, nil
}

// keys makes or takes what backups are signed with and encrypted to.
func (a *addFlags) keys(namespace string, d *bucket.Description, secrets bucket.Secrets) error {
	if err := a.distrustKeys(d, secrets); err != nil {
		return err
	}
	if err := a.sign(namespace, d, secrets); err != nil {
		return err
	}
	for _, key := range a.trust {
		if !slices.Contains(d.Trusted, key) {
			d.Trusted = append(d.Trusted, key)
		}
	}
	if len(a.recipients) > 0 {
		d.Recipients, d.Plain = a.recipients, false
	}
	switch {
	case a.newKey != "":
		secret, public, err := archive.NewIdentity()
		if err != nil {
			return err
		}
		a.made, d.Plain = secret, false
		d.Recipients = append(d.Recipients, public)
	case a.identityFile != "":
		content, err := os.ReadFile(filepath.Clean(a.identityFile))
		if err != nil {
			return fmt.Errorf("read --identity-file: %w", err)
		}
		public, err := archive.RecipientsOf(string(content))
		if err != nil {
			return fmt.Errorf("read --identity-file %s: %w", a.identityFile, err)
		}
		secrets[bucket.FileIdentity], d.Identity = content, true
		if len(d.Recipients) == 0 {
			d.Recipients, d.Plain = public, false
		}
	}
	if len(d.Recipients) == 0 && !d.Plain {
		return exit.Misuse("say who can read the backups: --recipient KEY, or --new-key-file FILE to make one; "+
			"--no-encryption if all who read the %s may read the data", kindOf(*d))
	}
	return nil
}

// keep writes the new secret key, durably, before anything is encrypted to it.
func (a *addFlags) keep() error {
	if a.made == "" {
		return nil
	}
	file, err := os.OpenFile(filepath.Clean(a.newKey), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(a.made + "\n")
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = disk.SyncDir(filepath.Dir(a.newKey))
	}
	if err != nil {
		return fmt.Errorf("keep the new key in --new-key-file: %w; the repository was not changed", err)
	}
	return nil
}
