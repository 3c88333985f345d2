package harness

import (
	"context"
	"fmt"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds is how long a test user's credentials are valid.
const tokenSeconds = 3600

// User makes a user who has nothing but the given ClusterRole in one
// namespace ("" for no rights at all), and writes a kubeconfig for them.
func (s *Site) User(ctx context.Context, namespace, name, role, path string) error {
	core := s.Client.CoreV1()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := core.ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create user %s: %w", name, err)
	}
	if role != "" {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
		}
		if _, err := s.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("give user %s the role %s: %w", name, role, err)
		}
	}
	if role != "" {
		if err := s.granted(ctx, namespace, name); err != nil {
			return err
		}
	}
	seconds := int64(tokenSeconds)
	token, err := core.ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a token for user %s: %w", name, err)
	}
	return s.writeKubeconfig(path, namespace, &clientcmdapi.AuthInfo{Token: token.Status.Token}, s.Rest.Host)
}

// granted waits until the API server knows of a binding that was just made.
func (s *Site) granted(ctx context.Context, namespace, name string) error {
	review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":" + name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get",
				Resource: "configmaps"},
		}}
	return Until(ctx, time.Minute, "the rights of user "+name, func(ctx context.Context) error {
		got, err := s.Client.AuthorizationV1().LocalSubjectAccessReviews(namespace).Create(ctx, review,
			metav1.CreateOptions{})
		if err == nil && !got.Status.Allowed {
			err = fmt.Errorf("%s may not read ConfigMaps: %s", review.Spec.User, got.Status.Reason)
		}
		return err
	})
}

// Unreachable writes a kubeconfig that leads to a port where nobody listens.
func (s *Site) Unreachable(path string) error {
	return s.writeKubeconfig(path, "default", &clientcmdapi.AuthInfo{Token: "none"}, "https://127.0.0.1:1")
}

func (s *Site) writeKubeconfig(path, namespace string, user *clientcmdapi.AuthInfo, server string) error {
	ca := s.Rest.CAData
	if len(ca) == 0 && s.Rest.CAFile != "" {
		var err error
		if ca, err = os.ReadFile(s.Rest.CAFile); err != nil {
			return fmt.Errorf("read the cluster's certificate authority: %w", err)
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca,
		InsecureSkipTLSVerify: s.Rest.Insecure}
	config.AuthInfos["test"] = user
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: namespace}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}
