package repositories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// addFlags are what a repository is made of.
type addFlags struct {
	url, endpoint, region, caFile, checksum string
	pathStyle, objectLock                   bool

	secret            string
	fromEnv, workload bool

	recipients, trust    []string
	newKey, identityFile string
	noEncryption, dryRun bool
	timeout              time.Duration

	// made is the new secret key.
	made string
}

func newAdd(f *command.Factory) *cobra.Command {
	a := &addFlags{}
	out := printer.NewTables()
	cmd := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Add a repository in an object store",
		Long: `Add a repository in an object store. The store is tried first: one that accepts conditions and ignores
them is refused. Nothing is written there but what the trial deletes again.

Who may write gets no key to read: backups are encrypted to the recipients, and their secret keys are needed for a
restore. --new-key-file makes such a pair and keeps the secret key in a file: print it, and keep it elsewhere. With
--identity-file the namespace gets the secret key too, in a Secret of its own: restores and verifications inside the
cluster need it, and who may read that Secret can read every backup.

Repeated for the same URL, it changes what is given and keeps the rest.`,
		Example: `  # Add a bucket with the credentials in the environment, and make a key
  kubectl dbop repository add offsite --url s3://backups/team-a --from-env --new-key-file key.txt

  # Add a bucket of another store, with credentials in a Secret, for an existing key
  kubectl dbop repository add b --url s3://b --endpoint https://s.example.com --secret credentials --recipient age1x

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

func (a *addFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.url, "url", "", "Where the repository is: s3://BUCKET[/PREFIX].")
	flags.StringVar(&a.endpoint, "endpoint", "", "URL of the store, if it is not Amazon's.")
	flags.StringVar(&a.region, "region", "", "Region of the bucket; asked of the store if not set.")
	flags.BoolVar(&a.pathStyle, "path-style", false, "Put the bucket into the path and not into the host name.")
	flags.StringVar(&a.caFile, "ca-file", "", "Certificates in PEM that are trusted beside the system's.")
	flags.StringVar(&a.checksum, "checksum", "",
		"Checksums on the way to the store: required, or off for stores that refuse them; sent and not required if not set.")
	flags.BoolVar(&a.objectLock, "require-object-lock", false, "Refuse a store that does not enforce retention.")
	flags.StringVar(&a.secret, "secret", "", "Secret of the namespace with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
	flags.BoolVar(&a.fromEnv, "from-env", false, "Take the credentials from the environment and keep them in a Secret.")
	flags.BoolVar(&a.workload, "workload-identity", false, "Use no credentials but the identity that pods have.")
	flags.StringSliceVar(&a.recipients, "recipient", nil, "Public key of age that can read the backups; may be repeated.")
	flags.StringVar(&a.newKey, "new-key-file", "", "Make a pair of keys, and keep the secret one in this new file.")
	flags.StringVar(&a.identityFile, "identity-file", "", "Secret key of age that the namespace gets, to read backups.")
	flags.BoolVar(&a.noEncryption, "no-encryption", false, "Encrypt nothing: who can read the bucket can read the data.")
	flags.StringSliceVar(&a.trust, "trust", nil, "Public key whose signatures count too, for backups that others took.")
	flags.BoolVar(&a.dryRun, "dry-run", false, "Only try the store.")
	flags.DurationVar(&a.timeout, "timeout", time.Minute, "Timeout of the command, such as 30s.")
	_ = cmd.MarkFlagFilename("ca-file")
	_ = cmd.MarkFlagFilename("identity-file")
}

func (a *addFlags) check() error {
	sources := 0
	for _, given := range []bool{a.secret != "", a.fromEnv, a.workload} {
		if given {
			sources++
		}
	}
	switch {
	case a.url == "":
		return exit.Misuse("--url is required, such as s3://backups/team-a")
	case sources > 1:
		return exit.Misuse("--secret, --from-env and --workload-identity exclude each other")
	case a.noEncryption && (len(a.recipients) > 0 || a.newKey != "" || a.identityFile != ""):
		return exit.Misuse("--no-encryption goes without --recipient, --new-key-file and --identity-file")
	case a.newKey != "" && a.identityFile != "":
		return exit.Misuse("--new-key-file and --identity-file exclude each other: use the new key's file the next time")
	}
	return nil
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
	if err := probe(ctx, f, out, named, d, secrets, a.objectLock); err != nil {
		return err
	}
	if a.dryRun {
		f.Note("repository/%s can be %s (dry run)", name, is)
		return nil
	}
	if err := a.keep(); err != nil {
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
	if a.caFile != "" {
		ca, err := os.ReadFile(filepath.Clean(a.caFile))
		if err != nil {
			return fmt.Errorf("read --ca-file: %w", err)
		}
		d.CA = string(ca)
	}
	return nil
}

// secrets are those that are there, and what was given.
func (a *addFlags) secrets(ctx context.Context, f *command.Factory, named clients.Named, namespace string,
	d *bucket.Description, added bool) (bucket.Secrets, error) {
	given := bucket.Secrets{}
	switch {
	case a.fromEnv:
		for _, name := range bucket.CredentialNames() {
			if value := f.Getenv(name); value != "" {
				given[name] = []byte(value)
			}
		}
		if len(given) == 0 {
			return nil, exit.Misuse("--from-env: the environment has no AWS_ACCESS_KEY_ID")
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

// keys makes or takes what backups are signed with and encrypted to.
func (a *addFlags) keys(namespace string, d *bucket.Description, secrets bucket.Secrets) error {
	if len(secrets[bucket.FileSigningKey]) == 0 {
		secret, public, err := archive.NewSigner(namespace + "/" + d.Name)
		if err != nil {
			return err
		}
		secrets[bucket.FileSigningKey] = []byte(secret)
		d.Trusted = append(d.Trusted, public)
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
		return exit.Misuse("say who can read the backups: --recipient KEY, or --new-key-file FILE to make one; " +
			"--no-encryption if all who read the bucket may read the data")
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

func (a *addFlags) advise(f *command.Factory, d bucket.Description) {
	switch {
	case a.made != "":
		f.Note("The secret key is in %s, and nowhere else: print it, and keep it elsewhere. "+
			"Without it no backup can be read.", a.newKey)
	case d.Plain:
		f.Note("Backups are NOT encrypted: who can read the bucket can read the data.")
	}
	if !d.Plain && !d.Identity {
		f.Note("Restores inside the cluster need the secret key: %s repository add %s --url %s --identity-file FILE",
			command.DisplayName, d.Name, d.URL)
	}
}
