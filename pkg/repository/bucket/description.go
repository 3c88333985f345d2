// Package bucket is a repository in an object store or on a claim, in format 2: what describes it, the keys that belong
// to it, and how backups of one file are written there and read.
package bucket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// ErrDescription: a repository can't be opened as it is described.
var ErrDescription = errors.New("the repository can't be opened as it is described")

// Files of a repository: keys of its ConfigMap and of its Secrets, and names of files where those are mounted.
const (
	// FileDescription holds a Description as JSON.
	FileDescription = "repository.json"
	// FileSigningKey signs what is written, FileIdentity opens what was encrypted.
	FileSigningKey = "signing-key"
	FileIdentity   = "identity"
)

// Description is what everybody in the namespace may know. It holds no secret.
type Description struct {
	// Name is that of the repository in its namespace.
	Name string `json:"name"`
	// URL is "s3://BUCKET/PREFIX", "gs://BUCKET/PREFIX", "azure://ACCOUNT/CONTAINER/PREFIX" or "pvc:CLAIM/PATH".
	URL string `json:"url"`
	// Endpoint is the URL of the store; "" is that of Amazon, of Google, or of the account of Azure.
	Endpoint string `json:"endpoint,omitempty"`
	Region   string `json:"region,omitempty"`
	// PathStyle puts the bucket, or the account of Azure, into the path and not into the host name.
	PathStyle bool `json:"pathStyle,omitempty"`
	// CA holds certificates in PEM that are trusted beside the system's.
	CA string `json:"ca,omitempty"`
	// Checksum is "" for automatic, "required" or "off".
	Checksum string `json:"checksum,omitempty"`
	// Recipients are public keys of age. Plain says that there are none by choice: nothing is encrypted.
	Recipients []string `json:"recipients,omitempty"`
	Plain      bool     `json:"plain,omitempty"`
	// Trusted are the public keys whose signatures count.
	Trusted []string `json:"trusted,omitempty"`
	// Credentials names the Secret with the credentials of the store: that of a person, or the repository's own. ""
	// uses the identity of the workload.
	Credentials string `json:"credentials,omitempty"`
	// Bandwidth is how many bytes a second one backup, restore, verification or archive may send and receive at most; 0 is
	// no limit.
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// Retain is for how long the store refuses to delete each object of a backup and of a log, such as "30d"; "" for no
	// longer than it does by itself. RetainMode is "" for one that a person with that right can lift, or
	// "compliance" for one that nobody can.
	Retain     string `json:"retain,omitempty"`
	RetainMode string `json:"retainMode,omitempty"`
	// OneNode says that pods can mount the claim on one node at a time only: they run beside each other.
	OneNode bool `json:"oneNode,omitempty"`
	// Identity says that a Secret holds a secret key, so that backups can be read in the cluster.
	Identity bool `json:"identity,omitempty"`
}

// Secrets are the files of a repository that are secret, by name: CredentialNames, FileSigningKey, FileIdentity.
type Secrets map[string][]byte

// String hides them all.
func (s Secrets) String() string { return "<secrets>" }

// GoString hides them all.
func (s Secrets) GoString() string { return s.String() }

// ParseDescription reads what Encode wrote.
func ParseDescription(content []byte) (Description, error) {
	var d Description
	in := json.NewDecoder(bytes.NewReader(content))
	if err := in.Decode(&d); err != nil {
		return d, fmt.Errorf("%w: %w", ErrDescription, err)
	}
	return d, d.Check()
}

// Encode is the content of FileDescription.
func (d Description) Encode() ([]byte, error) {
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe repository %s: %w", d.Name, err)
	}
	return append(content, '\n'), nil
}

// Check judges a description without asking anybody: ErrDescription.
func (d Description) Check() error {
	var wrong string
	at, err := d.place()
	switch {
	case err != nil:
		wrong = err.Error()
	case at.claim() && (d.Endpoint != "" || d.PathStyle || d.CA != "" || d.Credentials != ""):
		wrong = "endpoints, path styles, certificates and credentials are of buckets alone"
	case !at.s3() && (d.Region != "" || d.Checksum != ""):
		wrong = "regions and modes of checksums are of S3 alone"
	case at.google() && d.PathStyle:
		wrong = "Google has no path style"
	case !at.s3() && d.Retain+d.RetainMode != "":
		wrong = "only S3 retains single objects"
	case d.checkRetain() != nil:
		wrong = d.checkRetain().Error()
	case d.Bandwidth != 0 && (d.Bandwidth < leastBandwidth || d.Bandwidth > math.MaxInt32):
		wrong = fmt.Sprintf("a bandwidth of %d bytes a second is not between 64Ki and 2047Mi", d.Bandwidth)
	case d.Plain && len(d.Recipients) > 0:
		wrong = "it has recipients, and is not to be encrypted"
	case !d.Plain && len(d.Recipients) == 0:
		wrong = "nobody can read what is encrypted: it has no recipient, and nobody chose that it is not encrypted"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrDescription, d.Name, wrong)
}

// leastBandwidth is below every useful limit: a limit so low is a slip of the pen, such as 50 for 50Mi.
const leastBandwidth = 64 << 10

func (d Description) keys(s Secrets) (archive.Keys, error) {
	var identities []string
	if id := s[FileIdentity]; len(id) > 0 {
		identities = []string{string(id)}
	}
	return archive.ParseKeys(d.Recipients, identities, string(s[FileSigningKey]), d.Trusted)
}

// ReadDirectory reads a description and its secrets where they are mounted into a pod.
func ReadDirectory(dir string) (Description, Secrets, error) {
	content, err := os.ReadFile(filepath.Clean(filepath.Join(dir, FileDescription)))
	if err != nil {
		return Description{}, nil, fmt.Errorf("read the description of the repository: %w", err)
	}
	d, err := ParseDescription(content)
	if err != nil {
		return d, nil, err
	}
	secrets := Secrets{}
	for _, name := range append(CredentialNames(), FileSigningKey, FileIdentity) {
		content, err := os.ReadFile(filepath.Clean(filepath.Join(dir, name)))
		switch {
		case err == nil:
			secrets[name] = content
		case !errors.Is(err, os.ErrNotExist):
			return d, nil, fmt.Errorf("read %s of repository %s: %w", name, d.Name, err)
		}
	}
	return d, secrets, nil
}
