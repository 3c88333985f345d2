package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/azure"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/gcs"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// CredentialNames are what any store may ask for: keys of a Secret, or variables of the environment.
func CredentialNames() []string {
	var out []string
	for _, scheme := range []string{schemeS3, schemeAzure, schemeGoogle} {
		out = append(out, place{scheme: scheme}.credentials()...)
	}
	return out
}

// CredentialNames are what the store of this repository may ask for; the first one says that there are any.
func (d Description) CredentialNames() []string {
	at, err := d.place()
	if err != nil {
		return CredentialNames()
	}
	return at.credentials()
}

// CredentialFile is the variable of the environment that names a file with a credential, where there is one.
func CredentialFile(name string) (variable string, ok bool) {
	return gcs.CredentialFile, name == gcs.CredentialKey
}

// Store opens the store alone. Nothing is dialled before the first call. That of a claim is the directory MountedClaim
// of this very pod.
func (d Description) Store(s Secrets) (store.Store, error) {
	at, err := d.place()
	var out store.Store
	if err == nil {
		out, err = at.open(d, func(name string) string { return strings.TrimSpace(string(s[name])) })
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDescription, d.Name, err)
	}
	return out, nil
}

const (
	schemeS3     = "s3"
	schemeAzure  = "azure"
	schemeGoogle = "gs"
	schemeClaim  = string(repository.KindClaim)
)

// place is a URL, taken apart.
type place struct{ scheme, account, bucket, prefix string }

func (p place) s3() bool     { return p.scheme == schemeS3 }
func (p place) google() bool { return p.scheme == schemeGoogle }
func (p place) claim() bool  { return p.scheme == schemeClaim }

func (d Description) place() (place, error) {
	if at, ok := d.Claim(); ok {
		return place{scheme: schemeClaim, bucket: at.Claim, prefix: at.Path}, nil
	}
	u, err := url.Parse(d.URL)
	if err != nil || len((place{scheme: u.Scheme}).credentials()) == 0 || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		// The text is not repeated: it may hold a password.
		return place{}, errors.New(`its URL is none of a bucket or a claim; write "s3://BUCKET/PREFIX", ` +
			`"gs://BUCKET/PREFIX", "azure://ACCOUNT/CONTAINER/PREFIX" or "pvc:CLAIM/PATH"`)
	}
	path := strings.Trim(u.Path, "/")
	if u.Scheme != schemeAzure {
		return place{scheme: u.Scheme, bucket: u.Host, prefix: path}, nil
	}
	container, prefix, _ := strings.Cut(path, "/")
	if container == "" {
		return place{}, errors.New(`its URL names no container; write "azure://ACCOUNT/CONTAINER/PREFIX"`)
	}
	return place{scheme: schemeAzure, account: u.Host, bucket: container, prefix: prefix}, nil
}

// credentials are none for a scheme that nobody knows.
func (p place) credentials() []string {
	switch p.scheme {
	case schemeS3:
		return []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
	case schemeAzure:
		return []string{"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"}
	case schemeGoogle:
		return []string{gcs.CredentialKey}
	}
	return nil
}

func (p place) open(d Description, credentials func(string) string) (store.Store, error) {
	switch p.scheme {
	case schemeClaim:
		return openClaim(p.bucket, p.prefix)
	case schemeAzure:
		return azure.Open(azure.Config{
			Account: p.account, Container: p.bucket, Prefix: p.prefix, Endpoint: d.Endpoint, PathStyle: d.PathStyle,
			CA: []byte(d.CA), Credentials: credentials,
		})
	case schemeGoogle:
		return gcs.Open(gcs.Config{
			Bucket: p.bucket, Prefix: p.prefix, Endpoint: d.Endpoint, CA: []byte(d.CA), Credentials: credentials,
		})
	}
	return s3.Open(s3.Config{
		Bucket: p.bucket, Prefix: p.prefix, Endpoint: d.Endpoint, Region: d.Region, PathStyle: d.PathStyle,
		CA: []byte(d.CA), Checksum: s3.Checksum(d.Checksum), Retention: s3.Retention(d.RetainMode),
		Credentials: credentials,
	})
}
