package external

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
)

// SecretKey is one value of a Secret; Key may be left out where there is a usual one.
type SecretKey struct{ Secret, Key string }

// Keys is where a client's certificate and the authority to trust are.
type Keys struct{ Certificate, Key, Authority SecretKey }

// SecretAt finds the Secret that a container sees under a path, if it is one's.
func (p Pod) SecretAt(container, file string) (SecretKey, bool) {
	if file == "" {
		return SecretKey{}, false
	}
	var mounts []corev1.VolumeMount
	for _, c := range p.Spec.Containers {
		if c.Name == container {
			mounts = c.VolumeMounts
		}
	}
	for _, m := range mounts {
		key, below := strings.CutPrefix(path.Clean(file), path.Clean(m.MountPath)+"/")
		if !below {
			continue
		}
		if m.SubPath != "" {
			key = path.Join(m.SubPath, key)
		}
		for _, v := range p.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			if found, ok := secretIn(v, key); ok {
				return found, true
			}
		}
	}
	return SecretKey{}, false
}

func secretIn(v corev1.Volume, key string) (SecretKey, bool) {
	projected := func(secret string, items []corev1.KeyToPath) (SecretKey, bool) {
		for _, i := range items {
			if i.Path == key {
				return SecretKey{secret, i.Key}, true
			}
		}
		return SecretKey{secret, key}, len(items) == 0
	}
	if s := v.Secret; s != nil {
		return projected(s.SecretName, s.Items)
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.Secret == nil {
				continue
			}
			if found, ok := projected(source.Secret.Name, source.Secret.Items); ok {
				return found, true
			}
		}
	}
	return SecretKey{}, false
}

// TLS reads what it takes to speak to members that something else made.
// What they show must be signed by the authority, and for one of the names
// under which their pods are known: which one differs from chart to chart.
func TLS(ctx context.Context, c *kube.Client, namespace string, t Keys, hosts []string) (*tls.Config, error) {
	read := secretReader(ctx, c, namespace)
	authority, err := read(t.Authority, pki.CAKey)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("secret %s/%s holds no authority under %s", namespace, t.Authority.Secret,
			cmp.Or(t.Authority.Key, pki.CAKey))
	}
	verify := func(raw [][]byte, _ [][]*x509.Certificate) error { return verifyAny(raw, roots, hosts) }
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots,
		InsecureSkipVerify:    true,   // #nosec G402 -- VerifyPeerCertificate does it, for any of several names
		VerifyPeerCertificate: verify} // #nosec G123 -- without a cache no session is resumed
	if t.Certificate.Secret == "" {
		return config, nil
	}
	certificate, err := read(t.Certificate, corev1.TLSCertKey)
	if err != nil {
		return nil, err
	}
	key, err := read(t.Key, corev1.TLSPrivateKeyKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s holds no matching certificate and key", namespace, t.Certificate.Secret)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// secretReader reads each Secret once. Its errors name keys, never values.
func secretReader(ctx context.Context, c *kube.Client, namespace string) func(SecretKey, string) ([]byte, error) {
	read := map[string]*corev1.Secret{}
	return func(at SecretKey, usual string) ([]byte, error) {
		s := read[at.Secret]
		if s == nil {
			s = &corev1.Secret{}
			if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: at.Secret}, s); err != nil {
				return nil, err
			}
			read[at.Secret] = s
		}
		value := s.Data[cmp.Or(at.Key, usual)]
		if len(value) == 0 {
			return nil, fmt.Errorf("secret %s/%s holds nothing under %s", namespace, at.Secret, cmp.Or(at.Key, usual))
		}
		return value, nil
	}
}

func verifyAny(raw [][]byte, roots *x509.CertPool, hosts []string) error {
	if len(raw) == 0 {
		return errors.New("the member shows no certificate")
	}
	intermediates := x509.NewCertPool()
	var leaf *x509.Certificate
	for i, der := range raw {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("read the member's certificate: %w", err)
		}
		if i == 0 {
			leaf = certificate
		} else {
			intermediates.AddCert(certificate)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates}); err != nil {
		return err
	}
	if !slices.ContainsFunc(hosts, func(h string) bool { return leaf.VerifyHostname(h) == nil }) {
		return fmt.Errorf("the member's certificate is for %v, which is none of the names of its pod", leaf.DNSNames)
	}
	return nil
}

// User reads a user and password; without a name of a user it is the usual one.
// Charts keep a password under a key such as "etcd-root-password", or "postgres-password".
func User(ctx context.Context, c *kube.Client, namespace, secret, usual string) (engine.Credentials, error) {
	s := &corev1.Secret{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secret}, s); err != nil {
		return engine.Credentials{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if (key == corev1.BasicAuthPasswordKey || strings.HasSuffix(key, "-root-password") ||
			key == "postgres-password") && len(s.Data[key]) > 0 {
			return engine.Credentials{User: cmp.Or(string(s.Data[corev1.BasicAuthUsernameKey]), usual),
				Password: string(s.Data[key])}, nil
		}
	}
	return engine.Credentials{}, fmt.Errorf("secret %s/%s holds nothing under %s", namespace, secret,
		corev1.BasicAuthPasswordKey)
}
