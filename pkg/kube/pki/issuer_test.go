package pki

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// fromIssuer is a cluster whose authority an issuer signs.
func fromIssuer() *v1alpha1.DatabaseCluster {
	c := kubetest.Cluster()
	c.Spec.TLS.Issuer = &v1alpha1.Issuer{Name: "corporate"}
	return c
}

// requested is what the issuer was asked, nil for nothing.
func requested(t *testing.T, api client.Client) *unstructured.Unstructured {
	t.Helper()
	o := certificateRequest(kubetest.Cluster())
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return o
}

// answers has the issuer say something about the request.
func answers(t *testing.T, api client.Client, kind, status, reason, message, certificate string) {
	t.Helper()
	o := requested(t, api)
	if o == nil {
		t.Fatal("nothing was requested")
	}
	o.Object["status"] = map[string]any{"certificate": certificate,
		"conditions": []any{map[string]any{"type": "Approved", "status": "True"}, map[string]any{"type": kind,
			"status": status, "reason": reason, "message": message}}}
	if err := api.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// signs has the issuer do what it was asked for, or for no authority.
func signs(t *testing.T, api client.Client, root *Signer, isCA bool) {
	t.Helper()
	text, _, _ := unstructured.NestedString(requested(t, api).Object, "spec", "request")
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := csr.CheckSignature(); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:   csr.Subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), IsCA: isCA,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign},
		root.Certificate, csr.PublicKey, root.key)
	if err != nil {
		t.Fatal(err)
	}
	chain := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(root.bundle)
	answers(t, api, "Ready", "True", "Issued", "Certificate fetched from issuer successfully",
		base64.StdEncoding.EncodeToString([]byte(chain)))
}

func corporate(t *testing.T) *Signer {
	t.Helper()
	p, err := NewAuthority("everybody in this company", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestIssuedAuthority: the issuer signs an authority for this cluster alone,
// and later the one that follows.
func TestIssuedAuthority(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster, root := fromIssuer(), corporate(t)
	for range 2 {
		if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrIssuing) ||
			!strings.Contains(err.Error(), "is cert-manager running?") {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]any{"isCA": true, "issuerRef.kind": "Issuer", "issuerRef.group": "cert-manager.io",
		"issuerRef.name": "corporate"} {
		if got, _, _ := unstructured.NestedFieldNoCopy(requested(t, api).Object, append([]string{"spec"},
			strings.Split(path, ".")...)...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	answers(t, api, "Ready", "False", "Pending", `Referenced "Issuer" not found`, "")
	if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrIssuing) ||
		!strings.Contains(err.Error(), `Referenced "Issuer" not found`) {
		t.Fatal(err)
	}
	signs(t, api, root, true)
	for range 2 {
		if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
			t.Fatal(err)
		}
	}
	trust, leaves := read(t, c, cluster)
	l := leaves["db-client-tls"]
	if trust.Current.Subject != "CN=shop/db" || trust.Problem != "" || len(l.Trusts) != 1 ||
		l.Trusts[0] != trust.Current || l.Problem != "" {
		t.Errorf("trust %+v, a leaf trusts %+v, %s", trust, l.Trusts, l.Problem)
	}
	first := parseCertificates(kubetest.Secret(t, api, "db-ca").Data["tls.crt"])
	if len(first) != 1 || first[0].Issuer.CommonName != "everybody in this company" {
		t.Errorf("%d certificates", len(first))
	}
	unasked(t, api)

	if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); !errors.Is(err, kube.ErrIssuing) {
		t.Fatal(err)
	}
	signs(t, api, root, true)
	if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if trust, _ = read(t, c, cluster); trust.Next == nil || trust.Next.Subject != "CN=shop/db #2" {
		t.Errorf("trust %+v", trust)
	}
	unasked(t, api)
}

// unasked makes sure that neither the request nor its key is left.
func unasked(t *testing.T, api client.Client) {
	t.Helper()
	s := given(t, "db-ca-request", KeyPair{})
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(s), s); !apierrors.IsNotFound(err) ||
		requested(t, api) != nil {
		t.Errorf("something is left of the request: %v", err)
	}
}

// TestIssuedAuthoritySurvivesCrashes dies at every write of a founding and of
// a rotation, one after the other: one that ends and one that is given up; a process that continues
// comes to the same end, with nothing left of the requests.
func TestIssuedAuthoritySurvivesCrashes(t *testing.T) {
	t.Run("to its end", func(t *testing.T) {
		dyingAtEach(t, func(c *kube.Client, cluster *v1alpha1.DatabaseCluster, trust Trust) error {
			return PromoteAuthority(t.Context(), c, cluster, trust.Next.Fingerprint)
		})
	})
	t.Run("given up", func(t *testing.T) {
		dyingAtEach(t, func(c *kube.Client, cluster *v1alpha1.DatabaseCluster, _ Trust) error {
			return DropAuthority(t.Context(), c, cluster)
		})
	})
}

func dyingAtEach(t *testing.T, end func(*kube.Client, *v1alpha1.DatabaseCluster, Trust) error) {
	t.Helper()
	died := errors.New("died")
	for at := 1; ; at++ {
		left := at
		dying := func() error {
			if left--; left == 0 {
				return died
			}
			return nil
		}
		c, api := kubetest.New(t, interceptor.Funcs{
			Create: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return errors.Join(dying(), api.Create(ctx, o, opts...))
			},
			Patch: func(ctx context.Context, api client.WithWatch, o client.Object, p client.Patch,
				opts ...client.PatchOption) error {
				return errors.Join(dying(), api.Patch(ctx, o, p, opts...))
			},
			Delete: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return errors.Join(dying(), api.Delete(ctx, o, opts...))
			},
		})
		cluster, root := fromIssuer(), corporate(t)
		until := func(do func() error) {
			t.Helper()
			for range 10 {
				err := do()
				switch {
				case err == nil:
					return
				case errors.Is(err, kube.ErrIssuing):
					if requested(t, api) != nil {
						signs(t, api, root, true)
					}
				case !errors.Is(err, died):
					t.Fatalf("died at write %d, then: %v", at, err)
				}
			}
			t.Fatalf("died at write %d: no end", at)
		}
		until(func() error { return EnsureCertificates(t.Context(), c, cluster) })
		trust, _ := read(t, c, cluster)
		// Who continues does not add what is there already.
		until(func() error {
			if trust, _ = read(t, c, cluster); trust.Next != nil {
				return nil
			}
			return AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint)
		})
		if trust, _ = read(t, c, cluster); trust.Next == nil || trust.Next.Subject != "CN=shop/db #2" ||
			trust.Next.Fingerprint == trust.Current.Fingerprint {
			t.Errorf("died at write %d: trust %+v", at, trust)
		}
		until(func() error { return end(c, cluster, trust) })
		unasked(t, api)
		if left > 0 {
			if at < 12 {
				t.Errorf("only %d writes", at-1)
			}
			return
		}
	}
}

// TestIssuedAuthorityAfterARest: what a crash left of a request that was
// answered is of the present key, and is not taken for the next one.
func TestIssuedAuthorityAfterARest(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster, root := fromIssuer(), corporate(t)
	_ = EnsureCertificates(t.Context(), c, cluster)
	signs(t, api, root, true)
	request, key := requested(t, api), kubetest.Secret(t, api, "db-ca-request")
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{request, key} {
		o.SetResourceVersion("")
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	trust, _ := read(t, c, cluster)
	for range 2 {
		if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); !errors.Is(err, kube.ErrIssuing) {
			t.Fatal(err)
		}
	}
	signs(t, api, root, true)
	if err := AddAuthority(t.Context(), c, cluster, trust.Current.Fingerprint); err != nil {
		t.Fatal(err)
	}
}

// TestNoAuthorityIssued: what the issuer refuses, or does otherwise than
// asked, is said; the next try asks again.
func TestNoAuthorityIssued(t *testing.T) {
	root := corporate(t)
	for name, row := range map[string]struct {
		answer func(t *testing.T, api client.Client)
		want   string
	}{
		"denied": {func(t *testing.T, api client.Client) {
			answers(t, api, "Denied", "True", "policy", "not in this company", "")
		}, "not in this company"},
		"invalid": {func(t *testing.T, api client.Client) {
			answers(t, api, "InvalidRequest", "True", "", "bad csr",
				"")
		}, "bad csr"},
		"failed": {func(t *testing.T, api client.Client) {
			answers(t, api, "Ready", "False", "Failed", "no CA here",
				"")
		}, "no CA here"},
		"empty": {func(t *testing.T, api client.Client) { answers(t, api, "Ready", "True", "Issued", "", "") },
			"there is no certificate"},
		"no PEM": {func(t *testing.T, api client.Client) { answers(t, api, "Ready", "True", "Issued", "", "aGVsbG8=") },
			"not PEM"},
		"no authority": {func(t *testing.T, api client.Client) { signs(t, api, root, false) }, "no authority's"},
		"another key": {func(t *testing.T, api client.Client) {
			signs(t, api, root, true)
			if err := api.Delete(t.Context(), kubetest.Secret(t, api, "db-ca-request")); err != nil {
				t.Fatal(err)
			}
		}, "do not match"},
	} {
		t.Run(name, func(t *testing.T) {
			c, api := kubetest.New(t, interceptor.Funcs{})
			cluster := fromIssuer()
			_ = EnsureCertificates(t.Context(), c, cluster)
			row.answer(t, api)
			err := EnsureCertificates(t.Context(), c, cluster)
			if !errors.Is(err, kube.ErrAuthority) || !strings.Contains(err.Error(), row.want) ||
				!strings.Contains(err.Error(),
					"Issuer corporate") {
				t.Errorf("%v, want %s", err, row.want)
			}
			unasked(t, api)
			if err := EnsureCertificates(t.Context(), c, cluster); !errors.Is(err, kube.ErrIssuing) {
				t.Errorf("it is not asked again: %v", err)
			}
		})
	}
}

func TestIssuedWithoutCertManager(t *testing.T) {
	missing := func(o client.Object) error {
		if o.GetObjectKind().GroupVersionKind() == kube.CertificateRequestKind() {
			return apierrors.NewNotFound(schema.GroupResource{Group: "cert-manager.io", Resource: "certificaterequests"}, "")
		}
		return nil
	}
	c, _ := kubetest.New(t, interceptor.Funcs{
		Create: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := missing(o); err != nil {
				return err
			}
			return api.Create(ctx, o, opts...)
		},
	})
	if err := EnsureCertificates(t.Context(), c, fromIssuer()); !errors.Is(err, kube.ErrAuthority) ||
		!strings.Contains(err.Error(), "no cert-manager") {
		t.Error(err)
	}
}

func TestRequestOfSomebodyElse(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	o := certificateRequest(kubetest.Cluster())
	if err := api.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := EnsureCertificates(t.Context(), c, fromIssuer()); !errors.Is(err, kube.ErrForeign) {
		t.Error(err)
	}
	o.SetLabels(map[string]string{v1alpha1.LabelCluster: "db"})
	o.SetAnnotations(map[string]string{kube.AnnotationClusterID: "earlier"})
	if err := api.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := EnsureCertificates(t.Context(), c, fromIssuer()); !errors.Is(err, kube.ErrIssuing) ||
		!strings.Contains(err.Error(), "earlier cluster") {
		t.Error(err)
	}
}
