package azure

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Config names a container. Account and Container are required.
type Config struct {
	Account, Container string
	// Prefix is put before every key, with a slash between.
	Prefix string
	// Endpoint is the URL of the account; "" is https://ACCOUNT.blob.core.windows.net.
	Endpoint string
	// PathStyle puts the account into the path of Endpoint, as an emulator wants it.
	PathStyle bool
	// CA holds certificates in PEM that are trusted beside the system's.
	CA []byte
	// Credentials returns AZURE_STORAGE_KEY, the key of the account, or AZURE_STORAGE_SAS_TOKEN: os.Getenv, or the data
	// of a Secret. Where it knows neither, the identity of the workload is used, else that of the machine.
	Credentials func(name string) string
}

// Open makes a client. Nothing is dialled before the first call.
func Open(c Config) (*Store, error) {
	if c.Account == "" || c.Container == "" {
		return nil, errors.New("open a container: its account or its name is missing; write " +
			"\"azure://ACCOUNT/CONTAINER/PREFIX\"")
	}
	prefix, err := store.ParsePrefix(c.Prefix)
	if err != nil {
		return nil, fmt.Errorf("open container %s: %w", c.Container, err)
	}
	at, err := c.url()
	if err != nil {
		return nil, fmt.Errorf("open container %s: %w", c.Container, err)
	}
	transport, err := store.Transport(c.CA)
	if err != nil {
		return nil, fmt.Errorf("open container %s: %w", c.Container, err)
	}
	client, err := c.client(at, transport)
	if err != nil {
		return nil, fmt.Errorf("open container %s at %s: %w", c.Container, at.Redacted(), err)
	}
	return &Store{client: client, transport: transport, account: c.Account, container: c.Container, prefix: prefix}, nil
}

// url is that of the container.
func (c Config) url() (*url.URL, error) {
	text := c.Endpoint
	if text == "" {
		text = "https://" + c.Account + ".blob.core.windows.net"
	}
	u, err := store.ParseEndpoint(text)
	if err != nil {
		return nil, err
	}
	if c.PathStyle {
		return u.JoinPath(c.Account, c.Container), nil
	}
	return u.JoinPath(c.Container), nil
}

func (c Config) client(at *url.URL, transport *http.Transport) (*container.Client, error) {
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: attempts - 1},
	}}
	lookup := c.Credentials
	if lookup == nil {
		lookup = func(string) string { return "" }
	}
	if key := lookup("AZURE_STORAGE_KEY"); key != "" {
		credential, err := container.NewSharedKeyCredential(c.Account, key)
		if err != nil {
			return nil, errors.New("AZURE_STORAGE_KEY is no key of an account") // the error may repeat it
		}
		return container.NewClientWithSharedKeyCredential(at.String(), credential, options)
	}
	if token := strings.TrimPrefix(lookup("AZURE_STORAGE_SAS_TOKEN"), "?"); token != "" {
		return container.NewClientWithNoCredential(at.String()+"?"+token, options)
	}
	credential, err := workload(options.ClientOptions)
	if err != nil {
		return nil, err
	}
	return container.NewClient(at.String(), credential, options)
}

// workload is the identity that Kubernetes gives a pod, else that of the machine.
func workload(o azcore.ClientOptions) (azcore.TokenCredential, error) {
	pod, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: o})
	if err == nil {
		return pod, nil
	}
	return azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ClientOptions: o})
}
