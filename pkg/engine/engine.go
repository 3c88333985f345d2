// Package engine is the contract between the operations, which know no
// database, and the engines, which know no operation. An engine answers pure
// questions (Rules), renders pods (Renderer) and speaks its protocol
// (Session). docs/engine-contract.md says what each part is for, and package
// contracttest checks an engine against it.
package engine

import (
	"context"
	"crypto/tls"
	"io"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Engine is one database product.
type Engine interface {
	// Name is the word in spec.engine.
	Name() string
	Capabilities() Capabilities
	Catalog() Catalog
	Rules
	Renderer
	Snapshotter
	// Connect makes a session; it dials lazily and returns an error only for
	// an Access that can never work.
	Connect(Access) (Session, error)
}

// Capabilities are asked, never assumed.
type Capabilities struct {
	// Quorum: writes need a majority of voters (etcd), so margins are counted.
	Quorum bool
	// Learners: a member that joined waits for Promote. Without it a member
	// becomes a whole one by itself once it has what it needs.
	Learners bool
	// HandOver: leadership can be moved to a named member.
	HandOver bool
	// Failover: where writes may be lost, members wait for a person to appoint a leader; sessions are Failoverers.
	Failover bool
	// Source: a cluster can begin as the copy of a server that something else made, and follow it; sessions are Followers.
	Source bool
	// Announce: a downgrade is announced before the first member moves; sessions
	// are Downgraders.
	Announce bool
	// Users: clients can be made to log in; sessions are Authenticators.
	Users bool
	// Login: clients always log in, so a cluster without authentication can't be made.
	Login bool
	// SQL: users have databases that speak SQL; sessions are SQLRunners.
	SQL bool
	// Database is that of a user who is given none, where SQL is set.
	Database string
	// Agent: members run this tool's agent. Its image is written down with the
	// cluster, so that a newer tool changes no running member.
	Agent bool
	// Routing: the client service can lead straight to the leader, which the agents see to.
	Routing bool
	// LoadedFounds: a member whose volume was loaded with a backup founds the cluster at its first start, as an empty one
	// does. Without it the loaded data says already who the members are (etcd).
	LoadedFounds bool
	// NamesOnce: the name of a member that was removed is never given again.
	NamesOnce bool
	// MaxMembers is the most members that make sense; OddMembers asks for an odd number.
	MaxMembers int
	OddMembers bool
	// DefragmentGain is how many bytes make the defragmentation of a member
	// worth its pause; 0 for engines that know none.
	DefragmentGain int64
}

// Access is how a session reaches a cluster.
type Access struct {
	Cluster *v1alpha1.DatabaseCluster
	// Dial opens a connection to a port of a pod, from wherever this process runs.
	Dial func(ctx context.Context, pod string, port int) (net.Conn, error)
	// TLS holds the client certificate and the CA; nil for plain text. The
	// engine sets the server name.
	TLS *tls.Config
	// Credentials reads, at each call again, what the administrator may log in
	// with, in the order to be tried. It is asked only where the database
	// demands a password: a certificate that names a user needs none. nil where
	// there is none. They are never logged.
	Credentials func(ctx context.Context) ([]Credentials, error)
	// External is true for a cluster that something else made, whose members may
	// take a certificate and yet not let it name a user.
	External bool
}

// MostAnswers is how much memory all that a session is answered at a time may
// take, whatever it is that answers.
const MostAnswers = 25 << 20

// Session speaks to one cluster. Methods that change something are idempotent:
// a repeat after success is success. All are safe for concurrent use.
type Session interface {
	// Observe asks every named member by itself, in parallel, within ctx, and
	// never fails because a member is down. A member that is slow past a few
	// seconds counts as unreachable.
	Observe(ctx context.Context, members []string) View
	// Register announces a member that is about to start, without a vote
	// where the engine has learners. A crash after it leaves an entry that is
	// not Started, which the next Register of the same name accepts.
	Register(ctx context.Context, member string) error
	// Promote gives a registered, caught-up member its vote. ErrNotReady
	// while the leader says that it lags.
	Promote(ctx context.Context, member string) error
	// Deregister removes the member of that identity, with that registered name,
	// from the database's member list. One that is not in it is a success.
	Deregister(ctx context.Context, member, id string) error
	// HandOver moves leadership to the named member and returns when that member leads.
	HandOver(ctx context.Context, to string) error
	// Snapshot streams a consistent copy of one member's data, checked on the
	// fly; an error means that what was written is worthless. report is
	// called with the bytes so far, and may be nil.
	Snapshot(ctx context.Context, from string, w io.Writer, report func(bytes int64)) error
	// Fingerprint describes the data of one member, to be compared with a backup's. ErrNotReady, wrapped, while its
	// server still reads the data.
	Fingerprint(ctx context.Context, member string) (Fingerprint, error)
	Close() error
}

// Snapshotter knows the engine's backup format.
type Snapshotter interface {
	// OpenSnapshot opens a finished snapshot file read-only, checks its
	// consistency and says what is inside. ErrNotSnapshot (wrapped) if it is
	// not this engine's, or damaged.
	// The checksum is read first, unless checked says that the bytes passed
	// through CheckStream on their way into the file.
	OpenSnapshot(path string, checked bool) (SnapshotFacts, error)
	// CheckStream returns a writer that sees all bytes of a snapshot; its
	// Close fails with ErrNotSnapshot (wrapped) if they do not make a whole one.
	CheckStream() io.WriteCloser
	// LoadCommand is the argv, run inside the target version's image, that
	// makes a data directory of the snapshot file for the one founding
	// member. It must fail rather than overwrite. The caller compares every byte
	// of the file with what passed CheckStream, and uses nothing of the result
	// if one differs.
	LoadCommand(in LoadInput) []string
}

// LoadInput is what LoadCommand needs.
type LoadInput struct {
	Cluster *v1alpha1.DatabaseCluster
	Member  string
	Token   string
	// File is the snapshot, DataDir the directory to create.
	File, DataDir string
	// Tool is this tool's own program in that image: an Unpacker has it do the work.
	Tool         string
	KeepRevision bool
	// Forward are arguments by which Tool brings the data to a target in the log; none for that of the backup.
	Forward []string
}

// SnapshotFacts is what a snapshot says of itself, kept in the backup's manifest.
type SnapshotFacts struct {
	Fingerprint `json:",inline"`
	// Schema is the version of the data format, "" if the snapshot does not say.
	Schema string `json:"schema,omitempty"`
	// Members that the snapshot lists; without any, those that held data when it was taken.
	Members []string `json:"members,omitempty"`
	// Auth is true if the data carries users and demands credentials.
	Auth bool `json:"auth"`
	// Incremental is true if it holds only what changed since a full snapshot.
	Incremental bool `json:"incremental,omitempty"`
	// LogStart is where the log begins that the data needs; nil of an engine without a log to archive.
	LogStart *LogStart `json:"logStart,omitempty"`
}

// LogStart names a file of the log, and the timeline that it belongs to.
type LogStart struct {
	Timeline string `json:"timeline"`
	File     string `json:"file"`
}

// Among names the members where the snapshot lists none.
func (f SnapshotFacts) Among(members []string) SnapshotFacts {
	if len(f.Members) == 0 {
		f.Members = members
	}
	return f
}

// Renderer renders the wanted state of a member as a pod. It is pure.
type Renderer interface {
	// Pod renders the engine's own parts of a member's pod.
	Pod(in PodInput) (Pod, error)
	// DisableBootstrap returns the pod template with which a member can only ever join an
	// existing cluster; everything else stays as it is.
	DisableBootstrap(corev1.PodTemplateSpec) corev1.PodTemplateSpec
	// Ports are the ports of the headless service; those named "client" are
	// on the client service too. One named "readonly" is on a service of its own
	// alone, where clients read that need not read what was written last.
	Ports(*v1alpha1.DatabaseCluster) []corev1.ServicePort
	// Options are the options that decide how a member's process behaves, by
	// name: the engine's defaults, those of this tool where they differ, what
	// follows from the volume, and the person's own. Who its peers are and how
	// the cluster began is not among them: two members of one cluster and
	// version have the same.
	Options(c *v1alpha1.DatabaseCluster, version string) (map[string]string, error)
	// Lint checks the options in spec.config against a version: unknown,
	// removed, or managed by us.
	Lint(config map[string]string, version string) error
}

// PodInput is what a pod is rendered from.
type PodInput struct {
	Cluster *v1alpha1.DatabaseCluster
	Member  string
	// Image to run; already resolved.
	Image string
	// Version of that image.
	Version string
	// ToolImage is this tool's own image, which holds the agent.
	ToolImage string
	// Bootstrap starts a founding member; otherwise it joins.
	Bootstrap bool
	// Witness votes and holds no data.
	Witness bool
	// Peers are the names of all members that the start should know, this one included.
	Peers []string
	// Selector are the labels that the pods of all members have, and no others.
	Selector map[string]string
	// JoinLimit is what the member is told of how many may be joining side by side; 0 and 1 for nothing. It is the same
	// for all members of a cluster.
	JoinLimit int
	// Loopback serves clients on 127.0.0.1 only, for throw-away members that
	// hold a copy of real data and must not be reached by anybody else.
	Loopback bool
}

// Pod is the engine's part of a pod; packages kube adds identity, volumes,
// certificates, placement and the security context.
type Pod struct {
	// Container is the database container. Its volume mounts for DataPath, TLSPath
	// and /tmp are added by the caller.
	Container corev1.Container
	// Init containers run before it, in this order, with the same mounts added.
	Init []corev1.Container
	// Volumes that the containers mount besides: empty directories, Secrets and
	// ConfigMaps of the namespace. Names "data", "tls" and "tmp" are taken.
	Volumes []corev1.Volume
	// Account is the service account of the pod; "" for the namespace's own, whose token is not mounted.
	Account string
	// User is the ID of the user and the group that owns the data, as which all
	// containers run; 0 is the tool's own.
	User int64
	// DataPath is where the member's volume is mounted, TLSPath where
	// tls.crt, tls.key and ca.crt are.
	DataPath, TLSPath string
	// DataDir is the directory below DataPath that LoadCommand's result becomes.
	DataDir string
	// GraceSeconds until a stopping pod is killed.
	GraceSeconds int64
}
