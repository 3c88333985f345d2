package repositories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newAdd(f *command.Factory) *cobra.Command {
	a := &addFlags{}
	out := printer.NewTables()
	cmd := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Add a repository in an object store or on a claim",
		Long: `Add a repository in an object store or on a claim. The store is tried first: one that accepts conditions
and ignores them is refused. Nothing is written there but what the trial deletes again; where the store retains each
new object that stays, and the first prune after its retention deletes it.

Who may write gets no key to read: backups are encrypted to the recipients, and their secret keys are needed for a
restore. --new-key-file makes such a pair and keeps the secret key in a file: print it, and keep it elsewhere. With
--identity-file the namespace gets the secret key too, in a Secret of its own: restores and verifications inside the
cluster need it, and who may read that Secret can read every backup.

Repeated for the same URL, it changes what is given and keeps the rest.`,
		Example: `  # Add a bucket with the credentials in the environment, and make a key
  kubectl dbop repository add offsite --url s3://backups/team-a --from-env --new-key-file key.txt

  # Add a bucket of another store, with credentials in a Secret, for an existing key
  kubectl dbop repository add b --url s3://b --endpoint https://s.example.com --secret credentials --recipient age1x

  # Add a container of Azure
  kubectl dbop repository add offsite --url azure://account/backups/team-a --from-env --new-key-file key.txt

  # Add a bucket of Google, with the key file that GOOGLE_APPLICATION_CREDENTIALS names
  kubectl dbop repository add offsite --url gs://backups/team-a --from-env --new-key-file key.txt

  # Add a directory of a claim, where backups are encrypted and logs can be archived
  kubectl dbop repository add nearby --url pvc:backups/team-a --new-key-file key.txt

  # Have a bucket with object lock refuse to delete backups for 30 days
  kubectl dbop repository add offsite --url s3://backups/team-a --retain 30d

  # Sign with a new key from now on
  kubectl dbop repository add offsite --url s3://backups/team-a --new-signing-key

  # Refuse what a former key signed
  kubectl dbop repository add offsite --url s3://backups/team-a --distrust 1c2d3e4f

  # Let restores inside the cluster read what is encrypted
  kubectl dbop repository add offsite --url s3://backups/team-a --identity-file key.txt`,
		Args: command.Arguments(1, 1, "the NAME of the repository"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := nameArgument(args)
			if err == nil {
				err = a.check()
			}
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
			defer cancel()
			return a.run(ctx, f, out, cmd.Flags().Changed, name)
		},
	}
	a.addTo(cmd)
	out.AddTo(cmd)
	return cmd
}

func (a *addFlags) run(ctx context.Context, f *command.Factory, out *printer.Output, changed func(string) bool,
	name string) error {
	mode := kube.DryRunNone
	if a.dryRun {
		mode = kube.DryRunClient
	}
	named, namespace, err := place(f, mode)
	if err != nil {
		return err
	}
	d, err := named.Get(ctx, namespace, name)
	is := "configured"
	if errors.Is(err, kube.ErrNotFound) {
		d, is, err = bucket.Description{Name: name, URL: a.url}, "added", nil
	}
	if err != nil {
		return err
	}
	if d.URL != a.url {
		return &ops.Error{Kind: ops.Refused, Check: "repository",
			Message: fmt.Sprintf("repository %s in namespace %s is %s already; nothing was changed", name, namespace, d.URL),
			Hint: "choose another name, or " + command.DisplayName + " repository remove " + name +
				", which deletes no backup"}
	}
	secrets, err := a.secrets(ctx, f, named, namespace, &d, is == "added")
	if err == nil {
		err = a.describe(&d, changed)
	}
	if err == nil {
		err = a.keys(namespace, &d, secrets)
	}
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return err
	}
	if err := a.findClaim(ctx, named, namespace, &d); err != nil {
		return err
	}
	at := existing{named: named, namespace: namespace, description: d}
	if err := probe(ctx, f, out, at, secrets, a.objectLock); err != nil {
		return err
	}
	if a.dryRun {
		f.Note("repository/%s can be %s (dry run)", name, is)
		return nil
	}
	if err := a.keep(); err != nil {
		return err
	}
	if err := a.saveTrusted(ctx, named, namespace, d, secrets); err != nil {
		return err
	}
	if err := named.Save(ctx, namespace, d, secrets); err != nil {
		return err
	}
	f.Note("repository/%s %s", name, is)
	a.advise(f, d)
	return nil
}

// describe puts what was given into the description.
func (a *addFlags) describe(d *bucket.Description, changed func(string) bool) error {
	for flag, set := range map[string]func(){
		"endpoint": func() { d.Endpoint = a.endpoint }, "region": func() { d.Region = a.region },
		"path-style": func() { d.PathStyle = a.pathStyle }, "checksum": func() { d.Checksum = a.checksum },
		"no-encryption": func() { d.Plain, d.Recipients = a.noEncryption, nil },
	} {
		if changed(flag) {
			set()
		}
	}
	a.describeRetention(d, changed)
	switch {
	case a.bandwidth == "0":
		d.Bandwidth = 0
	case changed("bandwidth"):
		most, err := command.Quantity("bandwidth", a.bandwidth)
		if err != nil {
			return err
		}
		d.Bandwidth = most.Value()
	}
	if a.caFile != "" {
		ca, err := os.ReadFile(filepath.Clean(a.caFile))
		if err != nil {
			return fmt.Errorf("read --ca-file: %w", err)
		}
		d.CA = string(ca)
	}
	return nil
}

// describeRetention puts what was given of a retention into the description.
func (a *addFlags) describeRetention(d *bucket.Description, changed func(string) bool) {
	switch {
	case a.retain == "0":
		d.Retain, d.RetainMode = "", ""
	case changed("retain"):
		d.Retain = a.retain
	}
	switch {
	case a.retainMode == "governance":
		d.RetainMode = ""
	case changed("retain-mode"):
		d.RetainMode = a.retainMode
	}
}

func (a *addFlags) advise(f *command.Factory, d bucket.Description) {
	switch {
	case a.made != "":
		f.Note("The secret key is in %s, and nowhere else: print it, and keep it elsewhere. "+
			"Without it no backup can be read.", a.newKey)
	case d.Plain:
		f.Note("Backups are NOT encrypted: who can read the %s can read the data.", kindOf(d))
	}
	if d.Retains() {
		f.Note("What is written from now on can't be deleted for %s, and costs its space for as long.", d.Retain)
	}
	if !d.Plain && !d.Identity {
		f.Note("Restores inside the cluster need the secret key: %s repository add %s --url %s --identity-file FILE",
			command.DisplayName, d.Name, d.URL)
	}
}
