package etcd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// addresses translates between members and the peer URLs that they are
// registered with.
type addresses struct {
	peerURL func(member string) string
	// member is "" for a URL that is none of ours.
	member func(peerURL string) string
	host   func(member string) string
}

func addressesOf(cluster *v1alpha1.DatabaseCluster) addresses {
	return addresses{
		peerURL: func(member string) string { return peerURL(cluster, member) },
		member:  func(u string) string { return memberOf(cluster, u) },
		host:    func(member string) string { return host(cluster, member) },
	}
}

func host(cluster *v1alpha1.DatabaseCluster, member string) string {
	return v1alpha1.MemberHost(cluster.Name, cluster.Namespace, member)
}

func scheme(cluster *v1alpha1.DatabaseCluster) string {
	if cluster.Spec.TLS.Disabled {
		return "http"
	}
	return "https"
}

func peerURL(cluster *v1alpha1.DatabaseCluster, member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(cluster), host(cluster, member), peerPort)
}

func clientURL(cluster *v1alpha1.DatabaseCluster, member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(cluster), host(cluster, member), clientPort)
}

// memberOf finds the member behind a peer URL: the first label of the host is
// its pod. An entry that has not started yet has no other name.
func memberOf(cluster *v1alpha1.DatabaseCluster, u string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		return ""
	}
	pod, _, _ := strings.Cut(parsed.Hostname(), ".")
	member, ok := strings.CutSuffix(pod, "-0")
	if !ok || v1alpha1.MemberNumber(cluster.Name, member) == 0 {
		return ""
	}
	return member
}
