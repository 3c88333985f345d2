package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
)

// Labels and annotations that the tool writes.
const (
	// LabelCluster is the cluster's name, on everything that belongs to it.
	LabelCluster = "dbop.dev/cluster"
	// LabelMember is the member's name, on workload, pod, volume and secret.
	LabelMember = "dbop.dev/member"
	// LabelKind is "cluster" or "operation" on the store's objects, and
	// "repository" on what describes one.
	LabelKind = "dbop.dev/kind"
	// LabelEngine is the engine's name, on the store's objects.
	LabelEngine = "dbop.dev/engine"
	// LabelPhase is an operation's phase.
	LabelPhase = "dbop.dev/phase"
	// LabelPurpose marks helper pods: "load", "verify", "repository" and so on.
	LabelPurpose = "dbop.dev/purpose"
	// LabelClaim is the claim that a pod mounts beside others, on their node: a repository of backups.
	LabelClaim = "dbop.dev/claim"
	// LabelUse with the value UseCluster offers a secret to custom resources: an
	// operator reads no other secret that they name.
	LabelUse   = "dbop.dev/use"
	UseCluster = "databasecluster"
	// AnnotationCustom is the UID of the custom resource that a record belongs
	// to, on the record; without it the command line alone has a say.
	AnnotationCustom = "dbop.dev/custom-resource"
	// AnnotationDefinition is the UID of the CustomResourceDefinition that served
	// that custom resource, on the record; without it no deletion of the object
	// ends the database.
	AnnotationDefinition = "dbop.dev/custom-resource-definition"
	// AnnotationConfirmDeletion is set by a person on a custom resource that a
	// tool manages, with the object's own name as its value: its deletion then
	// ends the database, no matter who deletes it.
	AnnotationConfirmDeletion = "dbop.dev/confirm-deletion"
	// FieldManager is the one field manager of server-side apply, for CLI and operator.
	FieldManager = "kubectl-dbop"
)

// DefinitionName is the name of the CustomResourceDefinition of DatabaseCluster.
const DefinitionName = "databaseclusters.dbop.dev"

// MaxNameLength bounds a cluster's name, so that "<name>-<n>-<hash>" still fits
// the 63 characters of a label value (StatefulSet's controller-revision-hash).
const MaxNameLength = 40

// MemberName is the name of the n-th member of a cluster, counted from 1.
func MemberName(cluster string, n int) string { return fmt.Sprintf("%s-%d", cluster, n) }

// MemberNumber is n of MemberName, or 0 if the name is no member of the cluster.
func MemberNumber(cluster, member string) int {
	rest, ok := strings.CutPrefix(member, cluster+"-")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || rest != strconv.Itoa(n) {
		return 0
	}
	return n
}

// PodName is the pod of a member: ordinal 0 of its StatefulSet.
func PodName(member string) string { return member + "-0" }

// VolumeName is the PersistentVolumeClaim of a member.
func VolumeName(member string) string { return member }

// Archive is what archives a cluster's log.
func Archive(cluster string) string { return cluster + "-archive" }

// HeadlessService carries the members' identities.
func HeadlessService(cluster string) string { return cluster }

// ClientService is where clients go.
func ClientService(cluster string) string { return cluster + "-client" }

// ReadOnlyService is where clients read that need not read what was written last.
func ReadOnlyService(cluster string) string { return cluster + "-readonly" }

// ClientHost is the DNS name of the client service, without the cluster domain.
// Every member's certificate holds it, and nobody else's.
func ClientHost(cluster, namespace string) string {
	return fmt.Sprintf("%s.%s.svc", ClientService(cluster), namespace)
}

// MemberHost is the member's DNS name, without the cluster domain: it is not
// always cluster.local, and a pod's search path completes it.
func MemberHost(cluster, namespace, member string) string {
	return fmt.Sprintf("%s.%s.%s.svc", PodName(member), HeadlessService(cluster), namespace)
}

// CASecret holds the certificate authority with its key.
func CASecret(cluster string) string { return cluster + "-ca" }

// CARequest is the request to an issuer for an authority, and the secret that
// holds its key meanwhile.
func CARequest(cluster string) string { return cluster + "-ca-request" }

// AdminSecret holds the tool's own client certificate.
func AdminSecret(cluster string) string { return cluster + "-admin-tls" }

// ClientSecret holds a client certificate for applications.
func ClientSecret(cluster string) string { return cluster + "-client-tls" }

// MemberSecret holds a member's certificate for peers and clients.
func MemberSecret(member string) string { return member + "-tls" }

// The users that every cluster has once authentication was enabled; the
// certificates in AdminSecret and ClientSecret name them too.
const (
	AdminUser       = "root"
	ApplicationUser = "client"
)

// PasswordSecret holds the name and password that a user logs in with.
func PasswordSecret(cluster, user string) string {
	if user == AdminUser {
		return cluster + "-root"
	}
	return cluster + "-user-" + user
}

// Schedule is the name of the CronJob that takes a cluster's backups, and of
// the service account, role and binding that it does so with.
func Schedule(cluster string) string { return cluster + "-backup" }

// AgentContainer is the init container of a member's pod that brings the agent along.
const AgentContainer = "agent"

// AgentAccount is the name of the service account that the agents of a cluster
// change its client service with, and of their role and binding.
func AgentAccount(cluster string) string { return cluster + "-agents" }

// Record is the name of the ConfigMap and of the Lease of a cluster.
func Record(cluster string) string { return cluster + ".dbop" }

// BackupLease is the name of the Lease under which the backup of a cluster is taken.
func BackupLease(cluster string) string { return Record(cluster) + "-backup" }

// OperationRecord is the name of the ConfigMap of an operation.
func OperationRecord(cluster, id string) string { return cluster + ".dbop-op-" + id }

// Repository is the name of a repository's ConfigMap, and of the secret with what it takes to write there.
func Repository(name string) string { return name + ".dbop-repository" }

// RepositoryIdentity is the name of the secret with what it takes to read what a repository has encrypted.
func RepositoryIdentity(name string) string { return name + ".dbop-identity" }
