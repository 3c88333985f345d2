package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// storePort is where the stores listen.
const storePort = 7070

// ObjectStore is a versitygw with TLS in a pod, which pods and this machine reach by the same address.
type ObjectStore struct {
	Endpoint string
	// CA is what its certificate is trusted by.
	CA []byte
	// Key and Secret are its credentials.
	Key, Secret string
}

// HasObjectStore reports whether the nodes have the image of a store: make stores and make cluster-up see to it.
func (s *Site) HasObjectStore() bool { return s.Env["DBOP_STORE_IMAGE"] != "" }

// StartObjectStore runs a store until its namespace goes. What it holds goes with its pod.
func (s *Site) StartObjectStore(ctx context.Context, namespace string) (*ObjectStore, error) {
	ips, err := s.nodeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	cert, key, err := SelfSigned(ips...)
	if err != nil {
		return nil, err
	}
	o := &ObjectStore{CA: cert, Key: "dbop-test", Secret: rand.Text()}
	if err := s.createStore(ctx, namespace, o, key); err != nil {
		return nil, fmt.Errorf("start an object store: %w", err)
	}
	service, err := s.Client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "store"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "store"},
			Ports: []corev1.ServicePort{{Port: storePort, TargetPort: intstr.FromInt32(storePort)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("start an object store: %w", err)
	}
	o.Endpoint = "https://" + net.JoinHostPort(ips[0].String(), strconv.Itoa(int(service.Spec.Ports[0].NodePort)))
	return o, Until(ctx, time.Minute, "the object store", func(ctx context.Context) error {
		_, err := o.client("any")
		if err == nil {
			err = o.MakeBucket(ctx, "ready", false)
		}
		return err
	})
}

// nodeAddresses are those of all nodes, by which pods and this machine reach a port of each.
func (s *Site) nodeAddresses(ctx context.Context) ([]net.IP, error) {
	nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var ips []net.IP
	for _, n := range nodes.Items {
		for _, a := range n.Status.Addresses {
			if ip := net.ParseIP(a.Address); a.Type == corev1.NodeInternalIP && ip != nil {
				ips = append(ips, ip)
			}
		}
	}
	if len(ips) == 0 {
		return nil, errors.New("no node has an address")
	}
	return ips, nil
}

func (s *Site) createStore(ctx context.Context, namespace string, o *ObjectStore, key []byte) error {
	core := s.Client.CoreV1()
	_, err := core.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "store"},
		Data: map[string][]byte{"cert.pem": o.CA, "key.pem": key, "ROOT_ACCESS_KEY": []byte(o.Key),
			"ROOT_SECRET_KEY": []byte(o.Secret)}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	yes, no, id := true, false, int64(65532)
	empty := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	}
	from := func(name string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "store"}, Key: name}}}
	}
	_, err = core.Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "store", Labels: map[string]string{"app": "store"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id,
				FSGroup: &id, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Volumes: []corev1.Volume{empty("data"), empty("versions"), {Name: "tls", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "store"}}}},
			Containers: []corev1.Container{{
				Name: "store", Image: s.Env["DBOP_STORE_IMAGE"],
				Env: []corev1.EnvVar{from("ROOT_ACCESS_KEY"), from("ROOT_SECRET_KEY")},
				Args: []string{"--port", fmt.Sprintf(":%d", storePort), "--cert", "/tls/cert.pem", "--key", "/tls/key.pem",
					"--quiet", "--keep-alive", "posix", "--versioning-dir", "/versions", "/data"},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"},
					{Name: "versions", MountPath: "/versions"},
					{Name: "tls", MountPath: "/tls"}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		}}, metav1.CreateOptions{})
	return err
}

// Environment is what the command line takes the credentials from.
func (o *ObjectStore) Environment() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": o.Key, "AWS_SECRET_ACCESS_KEY": o.Secret}
}

func (o *ObjectStore) client(bucket string) (*minio.Client, error) {
	env := o.Environment()
	b, err := s3.Open(s3.Config{Bucket: bucket, Endpoint: o.Endpoint, Region: "us-east-1", PathStyle: true, CA: o.CA,
		Credentials: func(name string) string { return env[name] }})
	if err != nil {
		return nil, err
	}
	return b.Client(), nil
}

// MakeBucket makes a bucket. Where lock asks for that it has object lock, which retains each new object for a day.
func (o *ObjectStore) MakeBucket(ctx context.Context, name string, lock bool) error {
	c, err := o.client(name)
	if err != nil {
		return err
	}
	err = c.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: "us-east-1", ObjectLocking: lock})
	if err != nil && minio.ToErrorResponse(err).Code != "BucketAlreadyOwnedByYou" {
		return fmt.Errorf("make bucket %s: %w", name, err)
	}
	if !lock {
		return nil
	}
	mode, length, unit := minio.Governance, uint(1), minio.Days
	if err := c.SetBucketObjectLockConfig(ctx, name, &mode, &length, &unit); err != nil {
		return fmt.Errorf("have bucket %s retain each new object: %w", name, err)
	}
	return nil
}

// Keys lists all objects of a bucket.
func (o *ObjectStore) Keys(ctx context.Context, bucket string) ([]string, error) {
	c, err := o.client(bucket)
	if err != nil {
		return nil, err
	}
	var out []string
	for info := range c.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Recursive: true}) {
		if info.Err != nil {
			return nil, fmt.Errorf("list bucket %s: %w", bucket, info.Err)
		}
		out = append(out, info.Key)
	}
	return out, nil
}

// Read and Write pass over what the tool guards: tests damage objects with them.
func (o *ObjectStore) Read(ctx context.Context, bucket, key string) ([]byte, error) {
	c, err := o.client(bucket)
	if err != nil {
		return nil, err
	}
	object, err := c.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	body, err := readAll(object)
	return body, errors.Join(err, object.Close())
}

// StoreProgram is a program that "make stores" built.
func StoreProgram(name string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return name
	}
	return filepath.Join(cache, "dbop-stores", name)
}

// AddObjectStore starts a store, and has the namespace know it as the repository offsite, with keys, whose files go
// into a directory that has the namespace's name below dir.
func (s *Site) AddObjectStore(ctx context.Context, namespace, dir string) error {
	store, err := s.StartObjectStore(ctx, namespace)
	if err != nil {
		return err
	}
	if err := store.MakeBucket(ctx, "backups", false); err != nil {
		return err
	}
	files := filepath.Join(dir, namespace)
	if err := os.MkdirAll(files, 0o700); err != nil {
		return err
	}
	ca, key := filepath.Join(files, "ca.pem"), filepath.Join(files, "key.txt")
	if err := os.WriteFile(ca, store.CA, 0o600); err != nil {
		return err
	}
	cli := s.CLI(dir, store.Environment())
	for _, keys := range [][]string{{"--new-key-file", key}, {"--identity-file", key}} {
		r, err := cli.Run(ctx, append([]string{"-n", namespace, "repository", "add", "offsite", "--url",
			"s3://backups/main", "--from-env", "--endpoint", store.Endpoint, "--path-style", "--region", "us-east-1",
			"--ca-file", ca}, keys...)...)
		if err != nil {
			return err
		}
		if r.Code != 0 {
			return fmt.Errorf("add a repository:\n%s", r)
		}
	}
	return nil
}
