package gcs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// CredentialKey names the credential that Config asks for: the content of the key file of a service account.
	CredentialKey = "GOOGLE_CREDENTIALS" //nolint:gosec // a name
	// CredentialFile is the variable by which Google's own tools name that file.
	CredentialFile = "GOOGLE_APPLICATION_CREDENTIALS" //nolint:gosec // a name

	scope   = "https://www.googleapis.com/auth/devstorage.read_write"
	service = "https://storage.googleapis.com"
)

// Config names a bucket. Bucket is required.
type Config struct {
	Bucket string
	// Prefix is put before every key, with a slash between.
	Prefix string
	// Endpoint is the URL of the service; "" is Google's.
	Endpoint string
	// CA holds certificates in PEM that are trusted beside the system's.
	CA []byte
	// Credentials returns CredentialKey: os.Getenv, or the data of a Secret. Where it knows none, Google's default is
	// used: the file that CredentialFile names, the login of gcloud, the identity of the pod or of the machine.
	Credentials func(name string) string
}

// Open makes a client. Nothing is dialled before the first call.
func Open(c Config) (*Store, error) {
	if c.Bucket == "" || strings.Contains(c.Bucket, "/") {
		return nil, errors.New(`open a bucket: it has no name; write "gs://BUCKET/PREFIX"`)
	}
	s, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", c.Bucket, err)
	}
	return s, nil
}

func open(c Config) (*Store, error) {
	prefix, err := store.ParsePrefix(c.Prefix)
	if err != nil {
		return nil, err
	}
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = service
	}
	at, err := store.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := store.Transport(c.CA)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // 308 says here that an upload goes on
	}}
	tokens, err := c.tokens(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	if err != nil {
		return nil, err
	}
	return &Store{client: client, tokens: oauth2.ReuseTokenSource(nil, tokens), endpoint: at, bucket: c.Bucket,
		prefix: prefix, wait: firstWait}, nil
}

// tokens asks for one at each call.
func (c Config) tokens(ctx context.Context) (oauth2.TokenSource, error) {
	if c.Credentials != nil {
		if key := c.Credentials(CredentialKey); key != "" {
			// Other types name files and programs of this machine, and who fills the Secret must not choose those.
			found, err := google.CredentialsFromJSONWithType(ctx, []byte(key), google.ServiceAccount, scope)
			if err != nil {
				return nil, errors.New(CredentialKey + " is no key file of a service account") // the error may repeat it
			}
			return found.TokenSource, nil
		}
	}
	return lazy(func() (*oauth2.Token, error) {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, fmt.Errorf("no credentials: set %s, or give the pod an identity: %w", CredentialFile, err)
		}
		return found.TokenSource.Token()
	}), nil
}

// lazy finds out at the first request what the machine offers: that may take seconds.
type lazy func() (*oauth2.Token, error)

func (l lazy) Token() (*oauth2.Token, error) { return l() }
