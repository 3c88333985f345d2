package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateNamespace makes a namespace that enforces the restricted Pod Security
// level and has a service account, and returns its name.
func (s *Site) CreateNamespace(ctx context.Context, prefix string) (string, error) {
	random := make([]byte, 3)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("choose a namespace: %w", err)
	}
	name := prefix + "-" + hex.EncodeToString(random)
	_, err := s.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
			"dbop.dev/test":                      "true",
		}}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create namespace %s: %w", name, err)
	}
	return name, Until(ctx, time.Minute, "the default service account of "+name, func(ctx context.Context) error {
		_, err := s.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// errStillThere says that an object has not gone yet.
var errStillThere = errors.New("it is still there")

// ClearNamespace is DeleteNamespace, and gives pods a second to end: where a
// test is over, nobody wants members to hand over their work to each other.
func (s *Site) ClearNamespace(ctx context.Context, name string, within time.Duration) error {
	if err := s.deleteNamespace(ctx, name); err != nil {
		return err
	}
	err := s.Client.CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))},
		metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("end the pods of namespace %s: %w", name, err)
	}
	return s.namespaceGone(ctx, name, within)
}

// DeleteNamespace removes a namespace and waits until it has gone, so that
// its pods and volumes do not weigh on what comes next.
func (s *Site) DeleteNamespace(ctx context.Context, name string, within time.Duration) error {
	if err := s.deleteNamespace(ctx, name); err != nil {
		return err
	}
	return s.namespaceGone(ctx, name, within)
}

func (s *Site) deleteNamespace(ctx context.Context, name string) error {
	err := s.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", name, err)
	}
	return nil
}

func (s *Site) namespaceGone(ctx context.Context, name string, within time.Duration) error {
	return Until(ctx, within, "namespace "+name+" to go", func(ctx context.Context) error {
		_, err := s.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return errStillThere
	})
}
