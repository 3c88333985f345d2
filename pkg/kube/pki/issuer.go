package pki

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// issuedAuthority has the cluster's issuer sign an authority for this cluster
// alone. Its key is made here and kept in a secret until the answer is there,
// so cert-manager never sees it, and a process that continues after a crash asks the
// same. ErrIssuing (wrapped, with what the issuer says) asks for another try.
// After a refusal, ErrAuthority, the next try asks again. What is left of a
// request that was answered before is of the present key, and goes first.
func issuedAuthority(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, subject string,
	present crypto.PublicKey) (KeyPair, error) {
	if err := c.Behalf.CheckIssuer(cluster.Spec.TLS.Issuer); err != nil {
		return KeyPair{}, err
	}
	key, err := requestKey(ctx, c, cluster)
	if err != nil {
		return KeyPair{}, err
	}
	if public, ok := key.Public().(*ecdsa.PublicKey); present != nil && ok && public.Equal(present) {
		if err := DeleteRequest(ctx, c, cluster); err != nil {
			return KeyPair{}, err
		}
		return KeyPair{}, fmt.Errorf("the request before was answered: %w", kube.ErrIssuing)
	}
	request, err := ensureRequest(ctx, c, cluster, subject, key)
	if err != nil {
		return KeyPair{}, err
	}
	chain, err := answer(request)
	if errors.Is(err, kube.ErrIssuing) {
		return KeyPair{}, err
	}
	p := KeyPair{Certificate: firstCertificate(chain)}
	if err == nil {
		if p.Key, err = encodeKey(key); err == nil {
			err = judgeAuthority(p, c.Now())
		}
	}
	if err != nil {
		err = fmt.Errorf("%s of namespace %s: %w: %w", cluster.Spec.TLS.Issuer, cluster.Namespace, kube.ErrAuthority, err)
		return KeyPair{}, errors.Join(err, DeleteRequest(ctx, c, cluster))
	}
	return p, nil
}

// requestKey is the key that waits for its certificate, made first if there is none.
func requestKey(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (*ecdsa.PrivateKey, error) {
	name := v1alpha1.CARequest(cluster.Name)
	s, err := c.EnsureSecret(ctx, cluster, name, corev1.SecretTypeOpaque, kube.ObjectLabels(cluster,
		kube.ComponentDatabase), func() (map[string][]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("generate a key: %w", err)
		}
		text, err := encodeKey(key)
		return map[string][]byte{corev1.TLSPrivateKeyKey: text}, err
	})
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(s.Data[corev1.TLSPrivateKeyKey])
	if block != nil {
		if parsed, err := parseKey(block.Bytes); err == nil {
			if key, ok := parsed.(*ecdsa.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("secret %s/%s holds no key; delete it: %w", cluster.Namespace, name, kube.ErrForeign)
}

// ensureRequest reads the request, or makes it.
func ensureRequest(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, subject string,
	key crypto.Signer) (*unstructured.Unstructured, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: subject}}, key)
	if err != nil {
		return nil, fmt.Errorf("write the request of an authority: %w", err)
	}
	o := certificateRequest(cluster)
	made := kube.ObjectMeta(cluster, o.GetName(), kube.ObjectLabels(cluster, kube.ComponentDatabase))
	o.SetLabels(made.Labels)
	o.SetAnnotations(made.Annotations)
	issuer := cluster.Spec.TLS.Issuer
	o.Object["spec"] = map[string]any{
		"request": base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST",
			Bytes: der})),
		"isCA":     true,
		"usages":   []any{"cert sign", "crl sign"},
		"duration": authorityLife.String(),
		"issuerRef": map[string]any{
			"name": issuer.Name, "kind": cmp.Or(issuer.Kind, "Issuer"), "group": cmp.Or(issuer.Group,
				kube.CertificateRequestKind().Group),
		},
	}
	found := certificateRequest(cluster)
	err = c.API.Get(ctx, client.ObjectKeyFromObject(found), found)
	if errors.Is(err, kube.ErrNotFound) {
		err, found = c.API.Create(ctx, o), o
	}
	switch {
	case errors.Is(err, kube.ErrExists):
		return nil, fmt.Errorf("somebody else asks for the same: %w", kube.ErrIssuing)
	case meta.IsNoMatchError(err), errors.Is(err, kube.ErrNotFound):
		return nil, fmt.Errorf("ask %s: %w: this Kubernetes has no cert-manager (kubectl get crd "+
			"certificaterequests.cert-manager.io)", issuer, kube.ErrAuthority)
	case err != nil:
		return nil, err
	case found.GetLabels()[v1alpha1.LabelCluster] != cluster.Name:
		return nil, c.ForeignError("create", found)
	case !kube.BelongsTo(found, cluster) || found.GetDeletionTimestamp() != nil:
		return nil, fmt.Errorf("the request of an earlier cluster of that name is still there: %w", kube.ErrIssuing)
	}
	return found, nil
}

// answer is the chain of certificates that was issued, or why there is none.
func answer(request *unstructured.Unstructured) ([]byte, error) {
	said := "nobody has answered it yet (is cert-manager running?)"
	conditions, _, _ := unstructured.NestedSlice(request.Object, "status", "conditions")
	for _, each := range conditions {
		condition, ok := each.(map[string]any)
		if !ok {
			continue
		}
		kind, status, reason, message := condition["type"], condition["status"], condition["reason"], condition["message"]
		switch {
		case (kind == "Denied" || kind == "InvalidRequest") && status == "True", kind == "Ready" && (reason == "Failed" ||
			reason == "Denied"):
			return nil, fmt.Errorf("it refused: %v", message)
		case kind == "Ready" && status == "True":
			text, _, _ := unstructured.NestedString(request.Object, "status", "certificate")
			chain, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(bytes.TrimSpace(chain)) == 0 {
				return nil, errors.New("it says that it issued, and there is no certificate")
			}
			return chain, nil
		case kind == "Ready" && message != nil:
			said = fmt.Sprint(message)
		}
	}
	return nil, fmt.Errorf("certificaterequest %s: %s: %w", request.GetName(), said, kube.ErrIssuing)
}

// DeleteRequest removes what was asked for, once it is there or refused.
func DeleteRequest(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	if cluster.Spec.TLS.Issuer == nil {
		return nil
	}
	s := &corev1.Secret{}
	s.Name, s.Namespace = v1alpha1.CARequest(cluster.Name), cluster.Namespace
	for _, o := range []client.Object{certificateRequest(cluster), s} {
		if err := c.API.Delete(ctx, o); kube.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			return err
		}
	}
	return nil
}

func certificateRequest(cluster *v1alpha1.DatabaseCluster) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kube.CertificateRequestKind())
	o.SetName(v1alpha1.CARequest(cluster.Name))
	o.SetNamespace(cluster.Namespace)
	return o
}
