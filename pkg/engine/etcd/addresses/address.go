// Package addresses translates between the members of a cluster and the addresses that
// etcd knows them by.
package addresses

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Addresses translates between members and the peer URLs that they are
// registered with.
type Addresses struct {
	PeerURL func(member string) string
	// Member is "" for a URL that is none of ours.
	Member func(peerURL string) string
	Host   func(member string) string
}

// Of translates for one cluster.
func Of(cluster *v1alpha1.DatabaseCluster) Addresses {
	return Addresses{
		PeerURL: func(member string) string { return PeerURL(cluster, member) },
		Member:  func(u string) string { return memberOf(cluster, u) },
		Host:    func(member string) string { return Host(cluster, member) },
	}
}

// Host is the name of a member in the DNS of the cluster.
func Host(cluster *v1alpha1.DatabaseCluster, member string) string {
	return v1alpha1.MemberHost(cluster.Name, cluster.Namespace, member)
}

// Scheme of the URLs of a cluster: https, or http where TLS is off.
func Scheme(cluster *v1alpha1.DatabaseCluster) string {
	if cluster.Spec.TLS.Disabled {
		return "http"
	}
	return "https"
}

// PeerURL is where the other members reach a member.
func PeerURL(cluster *v1alpha1.DatabaseCluster, member string) string {
	return fmt.Sprintf("%s://%s:%d", Scheme(cluster), Host(cluster, member), PeerPort)
}

// ClientURL is where clients reach a member.
func ClientURL(cluster *v1alpha1.DatabaseCluster, member string) string {
	return fmt.Sprintf("%s://%s:%d", Scheme(cluster), Host(cluster, member), ClientPort)
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

// ClusterOf is the name of the cluster in that of its member, "" if there is none.
func ClusterOf(member string) string {
	i := strings.LastIndex(member, "-")
	if i < 1 {
		return ""
	}
	return member[:i]
}

// Number is the n of "<cluster>-<n>", 0 if there is none.
func Number(member string) int {
	cluster := ClusterOf(member)
	if cluster == "" {
		return 0
	}
	n, err := strconv.Atoi(member[len(cluster)+1:])
	if err != nil {
		return 0
	}
	return n
}

// Ports that every member listens on.
const (
	PeerPort    = 2380
	ClientPort  = 2379
	MetricsPort = 2381
)
