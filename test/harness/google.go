package harness

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/gcs"
)

const (
	googleImage = "dbop.test/dbop-dev/fake-gcs-server:dev"
	googlePort  = 7071
	tokensPort  = 7072
)

// Google is a fake-gcs-server with TLS in a pod, and what gives it tokens; pods and this machine reach both by the same
// addresses.
type Google struct {
	Endpoint string
	// CA is what its certificate is trusted by.
	CA []byte
	// Key is the key file of a service account.
	Key string
}

// GoogleImage packs the fake that make stores built and loads it into the nodes: ErrNoMachine where that can't be done.
func (s *Site) GoogleImage(ctx context.Context, dir string) (string, error) {
	m, err := s.Machine()
	if err != nil {
		return "", err
	}
	tokens := filepath.Join(dir, "tokens")
	build := Command{Path: s.Tool("go", "").Path, Dir: s.Root,
		Env: map[string]string{"GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}}
	r, err := build.Run(ctx, "build", "-o", tokens, "./test/tokens")
	if err != nil {
		return "", err
	}
	if r.Code != 0 {
		return "", fmt.Errorf("build what gives tokens:\n%s", r)
	}
	return googleImage, m.Cluster(ctx, "image", "--binary", StoreProgram("fake-gcs-server"), "--binary", tokens, "--name",
		googleImage)
}

// StartGoogle runs a fake of that image, with a bucket, until its namespace goes. What it holds goes with its pod.
func (s *Site) StartGoogle(ctx context.Context, namespace, image, bucket string) (*Google, error) {
	ips, err := s.nodeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	cert, key, err := SelfSigned(ips...)
	if err != nil {
		return nil, err
	}
	core := s.Client.CoreV1()
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(number)}
	}
	service, err := core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "google"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "google"},
			Ports: []corev1.ServicePort{port("store", googlePort), port("tokens", tokensPort)}}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("start a fake of Google's store: %w", err)
	}
	at := func(i int) string {
		return net.JoinHostPort(ips[0].String(), strconv.Itoa(int(service.Spec.Ports[i].NodePort)))
	}
	g := &Google{Endpoint: "https://" + at(0), CA: cert}
	if g.Key, err = accountKey("http://" + at(1)); err != nil {
		return nil, err
	}
	_, err = core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "google"},
		Data: map[string][]byte{"cert.pem": cert, "key.pem": key}}, metav1.CreateOptions{})
	if err == nil {
		_, err = core.Pods(namespace).Create(ctx, googlePod(image, at(0)), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("start a fake of Google's store: %w", err)
	}
	return g, Until(ctx, time.Minute, "the fake of Google's store", func(ctx context.Context) error {
		return g.makeBucket(ctx, bucket)
	})
}

// makeBucket asks both for something: for a token and for a bucket.
func (g *Google) makeBucket(ctx context.Context, bucket string) error {
	b, err := gcs.Open(gcs.Config{Bucket: bucket, Endpoint: g.Endpoint, CA: g.CA,
		Credentials: func(name string) string { return g.Environment()[name] }})
	if err != nil {
		return err
	}
	return errors.Join(b.MakeBucket(ctx, "test"), b.Close())
}

// Environment is what the command line takes the credential from.
func (g *Google) Environment() map[string]string { return map[string]string{gcs.CredentialKey: g.Key} }

// googlePod is the fake at the address by which it is asked: it tells where the parts of an upload go.
func googlePod(image, address string) *corev1.Pod {
	yes, no, id := true, false, int64(65532)
	bare := &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "google", Labels: map[string]string{"app": "google"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id,
				FSGroup: &id, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "google"}}}},
			Containers: []corev1.Container{
				{Name: "store", Image: image, SecurityContext: bare,
					Args: []string{"-scheme", "https", "-port", strconv.Itoa(googlePort), "-public-host", address, "-external-url",
						"https://" + address, "-backend", "memory", "-log-level", "error", "-cert-location", "/tls/cert.pem",
						"-private-key-location", "/tls/key.pem"},
					VolumeMounts: []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}},
				{Name: "tokens", Image: image, SecurityContext: bare, Command: []string{"/usr/local/bin/tokens"},
					Args: []string{fmt.Sprintf(":%d", tokensPort)}},
			}}}
}

// accountKey is the key file of a service account, whose tokens are given at an address.
func accountKey(tokens string) (string, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", fmt.Errorf("make the key of an account: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("make the key of an account: %w", err)
	}
	content, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "test@example.com", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	return string(content), err
}
