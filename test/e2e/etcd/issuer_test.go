//go:build e2e

package etcd

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// issuers are an authority of a company, and an Issuer that signs with it.
const issuers = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: root}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: company}
spec:
  secretName: company
  isCA: true
  commonName: everybody in this company
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {name: root, kind: Issuer, group: cert-manager.io}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: corporate}
spec: {ca: {secretName: company}}
`

// certificate is what the documentation has a person write.
const certificate = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: second-authority}
spec:
  secretName: second-authority
  isCA: true
  commonName: second
  duration: 17520h
  renewBefore: 4320h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {name: corporate, kind: Issuer, group: cert-manager.io}
`

// TestAuthorityFromAnIssuer has the real cert-manager sign the authorities of
// two clusters: one asks the Issuer itself, one is given the secret of a
// Certificate. Both get another authority later.
func TestAuthorityFromAnIssuer(t *testing.T) {
	s := newScene(t, "issuer", "my-db", "second")
	manager := s.certManager()
	waiting := s.begin(s.cli, "create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage",
		storage, "--issuer", "corporate")
	s.ok(untilSaid(s.ctx, waiting, "not found"))
	s.apply(issuers)
	if r, err := waiting.Wait(); err != nil || r.Code != 0 {
		t.Fatalf("%v\n%s\n%s", err, r, manager.Stderr())
	}
	s.signedBy("my-db", "everybody in this company")
	if r := s.kubectl("get", "certificaterequests", "my-db-ca-request"); r.Code == 0 {
		t.Errorf("the request is left:\n%s", r)
	}
	s.must("certificates", "rotate", "my-db", "--ca=at-once", "--allow-downtime", "--yes")
	s.signedBy("my-db", "everybody in this company")
	s.says(s.must("certificates", "show", "my-db", "-o", "wide"), "CN="+s.ns+"/my-db #2")
	s.liveCertificates("my-db", "served")

	s.apply(certificate)
	s.mustKubectl("wait", "--for=condition=Ready", "certificate/second-authority", "--timeout=1m")
	s.create("second", "3.6", "1", "--ca-secret", "second-authority")
	before := s.signedBy("second", "second")
	given, err := s.site.Client.CoreV1().Secrets(s.ns).Get(s.ctx, "second-authority", metav1.GetOptions{})
	s.ok(err)
	// What `cmctl renew` does.
	s.mustKubectl("patch", "certificate", "second-authority", "--subresource=status", "--type=json", "-p",
		`[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by hand", "lastTransitionTime": "`+metav1.Now().UTC().Format(time.RFC3339)+`"}}]`)
	s.ok(harness.Until(s.ctx, time.Minute, "cert-manager to renew the authority", func(ctx context.Context) error {
		secret, err := s.site.Client.CoreV1().Secrets(s.ns).Get(ctx, "second-authority", metav1.GetOptions{})
		if err == nil && bytes.Equal(secret.Data["tls.crt"], given.Data["tls.crt"]) {
			err = errors.New("it is still the one before")
		}
		return err
	}))
	s.must("certificates", "rotate", "second", "--ca=at-once", "--allow-downtime", "--yes")
	if after := s.signedBy("second", "second"); after == before {
		t.Error("the authority is the one before")
	}
	s.liveCertificates("second", "served")
}

// certManager starts the controllers of cert-manager for this test's namespace.
func (s *scene) certManager() *harness.Process {
	s.Helper()
	source := filepath.Join(s.site.Root, "test", "certmanager")
	program := filepath.Join(s.site.Root, "bin", "certmanager")
	run := func(args ...string) string {
		s.Helper()
		c := exec.CommandContext(s.ctx, "go", args...) // #nosec G204 -- arguments of this file
		c.Dir = source
		out, err := c.CombinedOutput()
		if err != nil {
			s.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("build", "-o", program, ".")
	definitions := filepath.Join(run("list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager"), "deploy",
		"crds")
	for _, kind := range []string{"issuers", "clusterissuers", "certificates", "certificaterequests"} {
		s.mustKubectl("apply", "--server-side", "-f", filepath.Join(definitions, "cert-manager.io_"+kind+".yaml"))
		s.served(kind + ".cert-manager.io")
	}
	c := harness.Command{Path: program, Dir: s.home, Env: map[string]string{"KUBECONFIG": s.site.Kubeconfig}}
	p, err := c.Start(s.ctx, s.ns)
	s.ok(err)
	s.Cleanup(func() {
		_ = p.Signal(os.Interrupt)
		_, _ = p.Wait()
	})
	return p
}

// served waits until the API server serves a kind. kubectl wait gives up on a definition without any condition yet.
func (s *scene) served(kind string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, podWithin, kind+" to be served", func(context.Context) error {
		if r := s.kubectl("get", kind); r.Code != 0 {
			return errors.New(r.String())
		}
		return nil
	}))
}

// signedBy asks that clients trust one authority, signed by somebody of that
// name, and returns it.
func (s *scene) signedBy(cluster, name string) string {
	s.Helper()
	s.healthy(cluster, 1)
	files, err := s.site.ClientFiles(s.ctx, s.ns, cluster)
	s.ok(err)
	if n := strings.Count(string(files["ca.crt"]), "BEGIN CERTIFICATE"); n != 1 {
		s.Errorf("%d authorities are trusted", n)
	}
	ca, err := s.site.Client.CoreV1().Secrets(s.ns).Get(s.ctx, cluster+"-ca", metav1.GetOptions{})
	s.ok(err)
	block, _ := pem.Decode(ca.Data["tls.crt"])
	signer, err := x509.ParseCertificate(block.Bytes)
	s.ok(err)
	if signer.Issuer.CommonName != name {
		s.Errorf("the authority of %s is signed by %s", cluster, signer.Issuer)
	}
	return string(files["ca.crt"])
}

// apply has kubectl apply a manifest.
func (s *scene) apply(manifest string) {
	s.Helper()
	file := filepath.Join(s.home, fmt.Sprintf("manifest-%d.yaml", time.Now().UnixNano()))
	s.ok(os.WriteFile(file, []byte(manifest), 0o600))
	s.mustKubectl("apply", "-f", file)
}
