package bundle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	password = `hunter"2 & \more`
	jwt      = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"
)

// pair is a certificate and its key as PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "db-1"},
		DNSNames: []string{"db-1-0.db.shop.svc"}, NotAfter: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// leaks reports what of a secret is in a text, in any form that it is likely to have.
func leaks(text string, secrets ...string) []string {
	var out []string
	for _, s := range secrets {
		for _, form := range []string{s, strings.TrimSpace(s), base64.StdEncoding.EncodeToString([]byte(s)),
			strings.ReplaceAll(s, `"`, `\"`)} {
			if strings.Contains(text, form) {
				out = append(out, form)
			}
		}
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) > 40 && strings.Contains(text, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

func TestObject(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db-1-tls", ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "someone"}},
		Annotations: map[string]string{lastApplied: `{"data":{"password":"` +
			base64.StdEncoding.EncodeToString([]byte(password)) + `"}}`, "example.org/token": "abc"}},
		Data: map[string][]byte{"tls.crt": []byte(certificate), "tls.key": []byte(key),
			"both.pem": []byte(certificate + key),
			"password": []byte(password), "pin": []byte("0042")}}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-1-0",
		Annotations: map[string]string{"note": "log in with " + password}}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "db-1-tls"}}}},
		Containers: []corev1.Container{{Name: "db", Image: "example.org/db:1",
			Args: []string{"--name=db-1", "--root-password=first-hidden", "--api-key", "second-hidden", "--quota=5",
				"--url=https://ada:third-hidden@example.org/x", "Authorization: Bearer fourth-hidden", jwt, key},
			Env: []corev1.EnvVar{{Name: "ETCD_NAME", Value: "db-1"}, {Name: "ANY", Value: "fifth-hidden"},
				{Name: "ETCD_ROOT_PASSWORD", Value: "sixth-hidden"}}}}}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	m := &Masker{}
	m.Learn(secret)
	hidden := []string{password, key, jwt, "first-hidden", "second-hidden", "third-hidden", "fourth-hidden",
		"fifth-hidden", "sixth-hidden", "0042", "MDA0Mg=="}
	var written []string
	for _, o := range []client.Object{secret, pod} {
		text, err := m.Object(o)
		if err != nil {
			t.Fatal(err)
		}
		if found := leaks(text, hidden...); len(found) > 0 {
			t.Errorf("%q are in\n%s", found, text)
		}
		written = append(written, text)
	}
	all := strings.Join(written, "")
	for _, kept := range []string{"CN=db-1", "db-1-0.db.shop.svc", "2030-01-02T03:04:05Z", "sha256:",
		"tls.key: '<masked>: ", "--name=db-1", "--quota=5", "secretName: db-1-tls", "value: db-1", "https://ada:"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is missing in\n%s", kept, all)
		}
	}
	if strings.Contains(all, "managedFields") {
		t.Error("managedFields are kept")
	}
	// What is masked is a copy's.
	if secret.Annotations["example.org/token"] != "abc" || string(secret.Data["password"]) != password {
		t.Error("the object was changed")
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	m := &Masker{}
	m.Learn(&corev1.Secret{Data: map[string][]byte{"a": []byte("learned-value\n"), "short": []byte("on")}})
	for in, want := range map[string]string{
		"say learned-value twice: learned-value":                                 "say <masked> twice: <masked>",
		"base64 " + base64.StdEncoding.EncodeToString([]byte("learned-value\n")): "base64 <masked>",
		"turned on and on":                            "turned on and on",
		`{"level":"info","password":"xyz","n":1}`:     `{"level":"info","password":"<masked>","n":1}`,
		`escaped {\"password\":\"xyz\"}`:              `escaped {\"password\":\"<masked>\"}`,
		"key-file = /etc/tls.key, revision=7":         "key-file = /etc/tls.key, revision=7",
		"initial-cluster-token: my-db":                "initial-cluster-token: my-db",
		"postgres://u:pw@host/db and http://host:80/": "postgres://u:<masked>@host/db and http://host:80/",
		"Authorization: Bearer abcdefghijkl":          "Authorization: Bearer <masked>",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
