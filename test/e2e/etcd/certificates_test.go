//go:build e2e

package etcd

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestCertificatesRotateUnderLoad rotates leaves, then the authority, while
// clients are at work. Those that read their secret between the halves are
// never locked out; those that don't are, and only by the last half.
func TestCertificatesRotateUnderLoad(t *testing.T) {
	s := newScene(t, "certs", "my-db")
	s.create("my-db", "3.6", "3")
	pods := s.podUIDs("my-db")
	l := s.underLoad("my-db", torture.Seed(t))
	l.do("certificates", "rotate", "my-db")
	if now := s.podUIDs("my-db"); fmt.Sprint(now) != fmt.Sprint(pods) {
		t.Errorf("a rotation of leaves renewed pods: %v, before %v", now, pods)
	}
	s.settles("my-db")
	l.do("certificates", "rotate", "my-db", "--ca")
	s.settles("my-db")
	l.end()
	stale := l.db
	// This is an application that reads its secret again.
	second := &load{s: s, db: s.dial("my-db")}
	second.writer = harness.StartWriter(s.ctx, second.db, "second/", loadRate)
	second.do("add-member", "my-db")
	second.do("member", "remove", "my-db", "my-db-4", "--yes")
	second.do("certificates", "rotate", "my-db", "--ca=finish", "--yes")
	counts := s.nothingLost(second.db, second.writer, "second/")
	t.Logf("%d writes acknowledged after the secret was read again, none lost", counts.Acked)
	s.settles("my-db")
	s.healthy("my-db", 3)
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	if _, err := stale.KV.Get(ctx, "load/"); err == nil {
		t.Error("a client that trusts the old authority alone is still served")
	}
	s.liveCertificates("my-db", "served")
}

// TestCertificatesRanOut is the bad day: every leaf is over, members were
// restarted since, and nobody reaches anybody.
func TestCertificatesRanOut(t *testing.T) {
	s := newScene(t, "ranout", "my-db")
	s.create("my-db", "3.6", "3")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	s.runsOut("certificates rotate my-db")
	if r := s.try("certificates", "show", "my-db"); r.Code != 10 || strings.Count(r.Stdout, "FAIL") != 5 {
		t.Errorf("show does not tell:\n%s", r)
	}
	if r := s.try("status", "my-db"); r.Code != 11 || !strings.Contains(r.Stdout, "ran out") {
		t.Errorf("status does not tell:\n%s", r)
	}
	began := time.Now()
	s.must("certificates", "rotate", "my-db")
	t.Logf("healthy again %s after the command was typed", time.Since(began).Round(100*time.Millisecond))
	s.settles("my-db")
	s.healthy("my-db", 3)
	kept, err := harness.ReadAll(s.ctx, s.dial("my-db"), "kept/")
	s.ok(err)
	if len(kept) != 500 {
		t.Errorf("%d of 500 keys are left", len(kept))
	}
	s.liveCertificates("my-db", "served")
}

// runsOut ends every certificate of my-db's three members, restarts them, and
// waits until diagnose names the remedy.
func (s *scene) runsOut(remedy string) {
	s.Helper()
	for _, secret := range []string{"my-db-admin-tls", "my-db-client-tls", "my-db-1-tls", "my-db-2-tls", "my-db-3-tls"} {
		s.expire("my-db", secret)
	}
	pods := s.site.Client.CoreV1().Pods(s.ns)
	for _, pod := range []string{"my-db-1-0", "my-db-2-0", "my-db-3-0"} {
		s.ok(pods.Delete(s.ctx, pod, metav1.DeleteOptions{}))
	}
	s.ok(harness.Until(s.ctx, time.Minute, "diagnose to tell what to do", func(context.Context) error {
		r := s.try("diagnose", "my-db")
		if r.Code != 11 || !strings.Contains(r.Stdout, "ran out") ||
			!strings.Contains(r.Stdout, "do:   kubectl dbop -n "+s.ns+" "+remedy) {
			return fmt.Errorf("diagnose says\n%s", r)
		}
		return nil
	}))
}

// TestCertificatesRanOutInFlight lets them run out while a change of size is
// half done and its tool is dead: the same command renews them, and goes on.
func TestCertificatesRanOutInFlight(t *testing.T) {
	if !torture.Full() {
		t.Skip("takes minutes, the long form has it: DBOP_TORTURE=all; the planner's tables have it in every run")
	}
	s := newScene(t, "ranout", "my-db")
	s.create("my-db", "3.6", "3")
	s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "kept/", 500, 64))
	if r := s.with(s.mortal("after:register-member"), "scale", "my-db", "--members", "5"); !r.Killed() {
		t.Fatalf("expected it to die once the first was registered:\n%s", r)
	}
	s.runsOut("resume my-db")
	s.must("scale", "my-db", "--members", "5")
	s.becomes("my-db", 5)
	kept, err := harness.ReadAll(s.ctx, s.dial("my-db"), "kept/")
	s.ok(err)
	if len(kept) != 500 {
		t.Errorf("%d of 500 keys are left", len(kept))
	}
	s.liveCertificates("my-db", "served")
}

// TestCertificatesOfAnOwnAuthority creates with a person's authority, and
// replaces it by another one of theirs.
func TestCertificatesOfAnOwnAuthority(t *testing.T) {
	s := newScene(t, "ownca", "my-db")
	args := []string{"create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", storage,
		"--ca-secret", "corporate"}
	s.refused(4, []string{"corporate", "not found"}, args...)
	s.giveAuthority("corporate", "corporate one", false)
	s.must(args...)
	files, err := s.site.ClientFiles(s.ctx, s.ns, "my-db")
	s.ok(err)
	if n := bytes.Count(files["ca.crt"], []byte("BEGIN CERTIFICATE")); n != 1 {
		t.Errorf("%d authorities are trusted: those above the one that was given must not be", n)
	}
	s.onlyMembersArePeers("my-db-1")
	s.giveAuthority("corporate", "corporate two", true)
	s.must("certificates", "rotate", "my-db", "--ca", "--allow-downtime")
	r := s.try("certificates", "rotate", "my-db", "--ca=abandon", "--allow-downtime", "--yes")
	if r.Code != 0 {
		t.Errorf("abandon:\n%s", r)
	}
	s.must("certificates", "rotate", "my-db", "--ca=at-once", "--allow-downtime", "--yes")
	s.healthy("my-db", 1)
	s.signedBy("my-db", "corporate two")
}

// onlyMembersArePeers knocks at a member's peer port from an address that no
// name means: its own certificate opens, those of users do not.
func (s *scene) onlyMembersArePeers(member string) {
	s.Helper()
	for secret, opens := range map[string]bool{member + "-tls": true, "my-db-admin-tls": false,
		"my-db-client-tls": false} {
		// One that was refused takes its port-forward along.
		address, end, err := s.site.Forward(s.ctx, s.ns, member+"-0", "2380")
		s.ok(err)
		defer end()
		data, err := s.site.Client.CoreV1().Secrets(s.ns).Get(s.ctx, secret, metav1.GetOptions{})
		s.ok(err)
		pair, err := tls.X509KeyPair(data.Data["tls.crt"], data.Data["tls.key"])
		s.ok(err)
		trust := x509.NewCertPool()
		trust.AppendCertsFromPEM(data.Data["ca.crt"])
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{pair},
			ServerName: "localhost", MinVersion: tls.VersionTLS12}}
		request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "https://"+address+"/members", http.NoBody)
		s.ok(err)
		response, err := transport.RoundTrip(request)
		if err == nil {
			s.ok(response.Body.Close())
		}
		if (err == nil) != opens {
			s.Errorf("%s knocks as a peer: %v", secret, err)
		}
		transport.CloseIdleConnections()
	}
}

// settles waits out a machine that is too busy to elect a leader for long.
func (s *scene) settles(name string) {
	s.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, name+" to be healthy", func(context.Context) error {
		if r := s.try("status", name); r.Code != 0 {
			return fmt.Errorf("status says\n%s", r)
		}
		return nil
	}))
}

func (s *scene) podUIDs(cluster string) []string {
	s.Helper()
	list, err := s.site.Client.CoreV1().Pods(s.ns).List(s.ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + cluster})
	s.ok(err)
	var out []string
	for _, p := range list.Items {
		out = append(out, string(p.UID))
	}
	return out
}

// liveCertificates asks that every member shows what its secret holds, and
// accepts the authorities in it.
func (s *scene) liveCertificates(name, want string) {
	s.Helper()
	var sheet struct {
		Certificates []struct {
			Secret, Use, Loaded, Severity string
		} `json:"certificates"`
	}
	r := s.must("certificates", "show", name, "-o", "json")
	s.ok(json.Unmarshal([]byte(r.Stdout), &sheet))
	members := 0
	for _, c := range sheet.Certificates {
		if !strings.HasPrefix(c.Use, "served by") {
			continue
		}
		members++
		if c.Loaded != want || c.Severity != "OK" {
			s.Errorf("%s: %s, %s", c.Secret, c.Severity, c.Loaded)
		}
	}
	if members == 0 {
		s.Error("no member's certificate is shown")
	}
}

// expire writes a certificate into a secret that was valid until a minute ago.
func (s *scene) expire(cluster, name string) {
	s.Helper()
	secrets := s.site.Client.CoreV1().Secrets(s.ns)
	ca, err := secrets.Get(s.ctx, cluster+"-ca", metav1.GetOptions{})
	s.ok(err)
	leaf, err := secrets.Get(s.ctx, name, metav1.GetOptions{})
	s.ok(err)
	signer, signerKey := s.pair(ca)
	old, key := s.pair(leaf)
	template := *old
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()),
		time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
	der, err := x509.CreateCertificate(rand.Reader, &template, signer, key.Public(), signerKey)
	s.ok(err)
	patch, err := json.Marshal(corev1.Secret{Data: map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}})
	s.ok(err)
	_, err = secrets.Patch(s.ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	s.ok(err)
}

func (s *scene) pair(secret *corev1.Secret) (*x509.Certificate, *ecdsa.PrivateKey) {
	s.Helper()
	c, _ := pem.Decode(secret.Data["tls.crt"])
	k, _ := pem.Decode(secret.Data["tls.key"])
	certificate, err := x509.ParseCertificate(c.Bytes)
	s.ok(err)
	key, err := x509.ParsePKCS8PrivateKey(k.Bytes)
	s.ok(err)
	return certificate, key.(*ecdsa.PrivateKey)
}

// giveAuthority makes, or replaces, a secret with an authority as cert-manager
// writes one: its chain behind it, and the root as ca.crt.
func (s *scene) giveAuthority(name, subject string, replace bool) {
	s.Helper()
	signed := func(subject string, by *x509.Certificate, with *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey,
		[]byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		s.ok(err)
		template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
			Subject: pkix.Name{CommonName: subject}, IsCA: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign}
		if by == nil {
			by, with = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), with)
		s.ok(err)
		out, err := x509.ParseCertificate(der)
		s.ok(err)
		return out, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	root, rootKey, rootPEM := signed("the company", nil, nil)
	issuer, issuerKey, issuerPEM := signed("the company's issuer", root, rootKey)
	_, key, own := signed(subject, issuer, issuerKey)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	s.ok(err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			"tls.crt": slices.Concat(own, issuerPEM), "ca.crt": rootPEM,
			"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}}
	secrets := s.site.Client.CoreV1().Secrets(s.ns)
	if replace {
		_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
	} else {
		_, err = secrets.Create(s.ctx, secret, metav1.CreateOptions{})
	}
	s.ok(err)
}
