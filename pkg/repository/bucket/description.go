// Package bucket is a repository in an object store, in format 2: what describes it, the keys that belong to it,
// and how backups of one file are written there and read.
package bucket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
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

// CredentialNames are what a store may ask for: keys of a Secret, or variables of the environment.
func CredentialNames() []string {
	return []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
}

// Description is what everybody in the namespace may know. It holds no secret.
type Description struct {
	// Name is that of the repository in its namespace.
	Name string `json:"name"`
	// URL is "s3://BUCKET/PREFIX".
	URL string `json:"url"`
	// Endpoint is the URL of the store; "" is Amazon's.
	Endpoint string `json:"endpoint,omitempty"`
	Region   string `json:"region,omitempty"`
	// PathStyle puts the bucket into the path and not into the host name.
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
	_, _, err := d.bucket()
	switch {
	case err != nil:
		wrong = err.Error()
	case d.Plain && len(d.Recipients) > 0:
		wrong = "it has recipients, and is not to be encrypted"
	case !d.Plain && len(d.Recipients) == 0:
		wrong = "nobody can read what is encrypted: it has no recipient, and nobody chose that it is not encrypted"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrDescription, d.Name, wrong)
}

// bucket takes the URL apart.
func (d Description) bucket() (name, prefix string, err error) {
	u, err := url.Parse(d.URL)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The text is not repeated: it may hold a password.
		return "", "", errors.New(`its URL is none of a bucket; write "s3://BUCKET/PREFIX"`)
	}
	return u.Host, strings.Trim(u.Path, "/"), nil
}

// Store opens the object store alone. Nothing is dialled before the first call.
func (d Description) Store(s Secrets) (store.Store, error) {
	name, prefix, err := d.bucket()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDescription, d.Name, err)
	}
	out, err := s3.Open(s3.Config{
		Bucket: name, Prefix: prefix, Endpoint: d.Endpoint, Region: d.Region, PathStyle: d.PathStyle, CA: []byte(d.CA),
		Checksum:    s3.Checksum(d.Checksum),
		Credentials: func(name string) string { return strings.TrimSpace(string(s[name])) },
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDescription, d.Name, err)
	}
	return out, nil
}

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
