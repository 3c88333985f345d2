// Package observe reads what exists for a cluster as plain data. It writes
// nothing and judges nothing.
package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// Facts is what exists in Kubernetes for one cluster, as read in one pass.
// It is plain data; nothing is inferred from what is absent in a cache.
type Facts struct {
	// Members holds every member of which a volume, workload or pod exists, sorted by number.
	Members []Member `json:"members"`
	// Certificates is true if CA, admin and client secrets exist, or none are
	// wanted; of a cluster that has formed it is taken for granted.
	Certificates bool `json:"certificates"`
	// Administrator is the certificate that the tool itself uses, as it was read
	// when the members were dialled; nil if it was not needed.
	Administrator *pki.Certificate `json:"administrator,omitempty"`
	// Trust and Leaves are read only where an operation is about them, see
	// Client.CertificateFacts. Leaves are in the order of their secrets' names.
	Trust  *pki.Trust        `json:"trust,omitempty"`
	Leaves []pki.Certificate `json:"leaves,omitempty"`
	// Services is true if the headless and the client service exist, with ports.
	Services bool `json:"services"`
	// Direct is true if the client service leads straight to the primary. LedTo is the member that an agent had it select;
	// "" if it selects all.
	Direct bool   `json:"direct,omitempty"`
	LedTo  string `json:"ledTo,omitempty"`
	// SentTo is the cluster whose members the client service selects; "" if it is this one.
	SentTo string `json:"sentTo,omitempty"`
	// Account is since when there is the service account by which agents lead clients; zero if there is none, or it was
	// not read.
	Account time.Time `json:"account,omitzero"`
	// Budget is minAvailable of the disruption budget; nil if there is none.
	Budget *int32 `json:"budget,omitempty"`
	// Schedule is what exists of the schedule of backups; nil if it was not read.
	Schedule *workload.Schedule `json:"schedule,omitempty"`
	// Archive is the workload that archives the log.
	Archive Workload `json:"archive,omitzero"`
	// Helpers are the tool's own pods for this cluster, by name.
	Helpers []Helper `json:"helpers,omitempty"`
	// Differences are the ways in which the cluster's objects are not as this
	// tool made them.
	Differences []drift.Difference `json:"differences,omitempty"`
	// Unexamined are the kinds of objects that could not be compared, because
	// nobody gave the right to read them.
	Unexamined []string `json:"unexamined,omitempty"`
	// Foreign lists objects, as kind/name, that bear a name of ours but not our
	// labels. It is asked for before anything is made; later every write
	// checks by itself, see ErrForeign.
	Foreign []string `json:"foreign,omitempty"`
	// Remains lists objects, as kind/name, that an earlier cluster of the same
	// name left. It is asked for until the cluster has formed.
	Leftovers []string `json:"leftovers,omitempty"`
}

// Member is what exists for one member.
type Member struct {
	Name     string   `json:"name"`
	Volume   Volume   `json:"volume"`
	Workload Workload `json:"workload"`
	Pod      Pod      `json:"pod"`
	// Unused: no container can ever have written to its volume.
	Unused bool `json:"unused,omitempty"`
}

// Volume is a member's PersistentVolumeClaim.
type Volume struct {
	Exists      bool `json:"exists"`
	Bound       bool `json:"bound"`
	Terminating bool `json:"terminating"`
	// UID guards a deletion against hitting the successor.
	UID string `json:"uid,omitempty"`
	// Token of the formation that made it; a volume with another token is of
	// an earlier life and is never touched.
	Token    string            `json:"token,omitempty"`
	Size     resource.Quantity `json:"size"`
	Capacity resource.Quantity `json:"capacity"`
	// Growth says how far a growth that was asked for has come, in the storage's own words.
	Growth  string   `json:"growth,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Workload is a member's StatefulSet.
type Workload struct {
	Exists      bool `json:"exists"`
	Terminating bool `json:"terminating"`
	// UID guards a deletion against hitting the successor.
	UID string `json:"uid,omitempty"`
	// Bootstrap is true while its template could still found a cluster.
	Bootstrap bool `json:"bootstrap"`
	// Idle is true if it was told to have no pod.
	Idle bool `json:"idle,omitempty"`
	// Revision is the one that new pods are made of, as its controller names it.
	Revision string `json:"revision,omitempty"`
	Image    string `json:"image,omitempty"`
	Version  string `json:"version,omitempty"`
	// Settings is the digest of the settings in its template, "" if the tool
	// that rendered it knew none.
	Settings string `json:"settings,omitempty"`
	// Rendering is the digest of its template, "" if the tool that rendered it kept none.
	Rendering string `json:"rendering,omitempty"`
	// Token of the formation it belongs to.
	Token string `json:"token,omitempty"`
	// Renderer is the version of the tool that rendered its template.
	Renderer string `json:"renderer,omitempty"`
	// AgentImage is where its template takes the agent from; "" without one.
	AgentImage string `json:"agentImage,omitempty"`
	// JoinLimit is what its template tells the member of how many may be joining side by side, as its engine reads it.
	JoinLimit int `json:"joinLimit,omitempty"`
}

// Pod is a member's pod.
type Pod struct {
	Exists      bool `json:"exists"`
	Running     bool `json:"running"`
	Ready       bool `json:"ready"`
	Terminating bool `json:"terminating"`
	// UID guards a deletion against hitting the successor.
	UID       string `json:"uid,omitempty"`
	Image     string `json:"image,omitempty"`
	Version   string `json:"version,omitempty"`
	Settings  string `json:"settings,omitempty"`
	Rendering string `json:"rendering,omitempty"`
	// Revision of the workload that it was made of.
	Revision string    `json:"revision,omitempty"`
	Node     string    `json:"node,omitempty"`
	IP       string    `json:"ip,omitempty"`
	Restarts int32     `json:"restarts"`
	Created  time.Time `json:"created"`
	// Started is since when its database's process runs; zero while it doesn't.
	Started time.Time `json:"started,omitzero"`
	Problem *Problem  `json:"problem,omitempty"`
	// AgentImage as in Workload.
	AgentImage string `json:"agentImage,omitempty"`
	// JoinLimit as in Workload.
	JoinLimit int `json:"joinLimit,omitempty"`
}

// Helper is one of the tool's own pods.
type Helper struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
	Running bool   `json:"running"`
	Done    bool   `json:"done"`
	Failed  bool   `json:"failed"`
	// Terminating is true once it was deleted.
	Terminating bool      `json:"terminating,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	// UID guards a deletion against hitting the successor.
	UID string `json:"uid,omitempty"`
	// Claims are the volumes that it uses, Node where it mounted them.
	Claims []string `json:"claims,omitempty"`
	Node   string   `json:"node,omitempty"`
	// Message is what its main container left when it ended.
	Message string   `json:"message,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// ProblemKind classifies what keeps a pod or volume from working.
type ProblemKind string

// The kinds.
const (
	ProblemImage         ProblemKind = "ImagePull"
	ProblemUnschedulable ProblemKind = "Unschedulable"
	ProblemVolume        ProblemKind = "VolumeNotBound"
	ProblemGrowth        ProblemKind = "VolumeNotGrown"
	ProblemCrashing      ProblemKind = "CrashLooping"
	ProblemOOM           ProblemKind = "OutOfMemory"
	ProblemDisk          ProblemKind = "DiskFull"
	ProblemConfig        ProblemKind = "CannotStart"
	ProblemForbidden     ProblemKind = "Forbidden"
	ProblemNode          ProblemKind = "NodeLost"
)

// Problem is evidence that something needs a person, with the cluster's own words.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Message string      `json:"message"`
	// Since when it is so, by the cluster's clock.
	Since time.Time `json:"since"`
	// Seen is when an event last said so; zero for what is so at this moment.
	Seen time.Time `json:"seen,omitzero"`
}

// Leaf returns the certificate in that secret, and whether there is one.
func (f Facts) Leaf(secret string) (pki.Certificate, bool) {
	for _, l := range f.Leaves {
		if l.Secret == secret {
			return l, true
		}
	}
	return pki.Certificate{Secret: secret}, false
}

// Member returns the facts of that name; the zero value with the name if nothing exists.
func (f Facts) Member(name string) Member {
	for _, m := range f.Members {
		if m.Name == name {
			return m
		}
	}
	return Member{Name: name}
}
