package repositories

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// addFlags are what a repository is made of.
type addFlags struct {
	url, endpoint, region, caFile, checksum, bandwidth string
	retain, retainMode                                 string
	pathStyle, objectLock                              bool

	secret            string
	fromEnv, workload bool

	recipients, trust    []string
	distrust             []string
	newKey, identityFile string
	noEncryption, dryRun bool
	newSigner            bool
	timeout              time.Duration

	// made is the new secret key, formerSigner the key that signed until now, if another one takes over.
	made         string
	formerSigner []byte
}

func (a *addFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.url, "url", "",
		"Where the repository is: s3://BUCKET[/PREFIX], gs://BUCKET[/PREFIX], azure://ACCOUNT/CONTAINER[/PREFIX] or "+
			"pvc:CLAIM[/PATH].")
	flags.StringVar(&a.endpoint, "endpoint", "",
		"URL of the store, if it is not the one of Amazon, of Google, or of the account of Azure.")
	flags.StringVar(&a.region, "region", "", "Region of the bucket; asked of the store if not set.")
	flags.BoolVar(&a.pathStyle, "path-style", false,
		"Put the bucket, or the account of Azure, into the path and not into the host name.")
	flags.StringVar(&a.caFile, "ca-file", "", "Certificates in PEM that are trusted beside the system's.")
	flags.StringVar(&a.checksum, "checksum", "",
		"Checksums on the way to the store: required, or off for stores that refuse them; sent and not required if "+
			"not set.")
	flags.StringVar(&a.bandwidth, "bandwidth", "", "Most bytes a second that one backup, restore or archive sends and "+
		"receives, such as 50Mi; 0 takes a limit back.")
	flags.BoolVar(&a.objectLock, "require-object-lock", false, "Refuse a store that does not enforce retention.")
	flags.StringVar(&a.retain, "retain", "", "How long the store refuses to delete what backups and logs are made of, "+
		"such as 30d; 0 takes that back for new ones. It implies --require-object-lock.")
	flags.StringVar(&a.retainMode, "retain-mode", "", "How it does that: compliance, which nobody can lift, or "+
		"governance, which who has that right can.")
	flags.StringVar(&a.secret, "secret", "", "Secret of the namespace with AWS_ACCESS_KEY_ID and "+
		"AWS_SECRET_ACCESS_KEY, with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or with GOOGLE_CREDENTIALS.")
	flags.BoolVar(&a.fromEnv, "from-env", false, "Take the credentials from the environment and keep them in a Secret.")
	flags.BoolVar(&a.workload, "workload-identity", false, "Use no credentials but the identity that pods have.")
	flags.StringSliceVar(&a.recipients, "recipient", nil, "Public key of age that can read the backups; may be repeated.")
	flags.StringVar(&a.newKey, "new-key-file", "", "Make a pair of keys, and keep the secret one in this new file.")
	flags.StringVar(&a.identityFile, "identity-file", "", "Secret key of age that the namespace gets, to read backups.")
	flags.BoolVar(&a.noEncryption, "no-encryption", false,
		"Encrypt nothing: who can read the bucket or the claim can read the data.")
	flags.StringSliceVar(&a.trust, "trust", nil, "Public key whose signatures count too, for backups that others took.")
	flags.BoolVar(&a.newSigner, "new-signing-key", false,
		"Sign with a new key from now on. What former keys signed stays trusted.")
	flags.StringSliceVar(&a.distrust, "distrust", nil, "ID of a former signing key, as repository check shows it: what "+
		"it signed is refused from now on.")
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
	case a.newSigner && len(a.distrust) > 0:
		return exit.Misuse("--new-signing-key and --distrust exclude each other: distrust a former key once nothing signs " +
			"with it any more")
	case a.newKey != "" && a.identityFile != "":
		return exit.Misuse("--new-key-file and --identity-file exclude each other: use the new key's file the next time")
	case strings.HasPrefix(a.url, string(repository.KindClaim)+":"):
		at, err := repository.ParseLocation(a.url)
		if err != nil {
			return exit.Misuse("--url: %v", err)
		}
		a.url = at.String()
	}
	return nil
}
