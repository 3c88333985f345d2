package engine

import (
	"context"
	"net"

	corev1 "k8s.io/api/core/v1"
)

// Recognizer is what an Engine also is if it can inspect members that
// something else made: a chart, another operator, a person. Its methods are pure.
type Recognizer interface {
	// Recognize reads from a pod's containers how its member runs; false if the
	// pod is no member of this engine's.
	Recognize(pod corev1.PodSpec) (MemberConfig, bool)
	// AssessRisks names what the engine knows to be dangerous about a cluster that
	// runs so, gravest first. There may be no traces, only a view.
	AssessRisks(traces []MemberConfig, v View) []Risk
}

// ExternalEngine is what a Recognizer also is if its members have something beside them here, such as agents, that
// those of others lack.
type ExternalEngine interface {
	// External is the engine without that. Its sessions are asked to Observe, and for nothing else.
	External() Engine
	// ExternalUser is who such a database is asked as, where nobody names another user.
	ExternalUser() string
	// ProbeTLS asks on a fresh connection whether the server would speak TLS. Nothing else is sent.
	ProbeTLS(ctx context.Context, conn net.Conn) (bool, error)
}

// MemberConfig is what a pod tells of how its member runs, before anybody asked it.
// It holds no secret: only files that are named, and options that are none.
type MemberConfig struct {
	// Member that it belongs to, by the name that the view has.
	Member string `json:"member,omitempty"`
	// Container that is the database, and its image.
	Container string `json:"container"`
	Image     string `json:"image"`
	// Port for clients.
	Port int `json:"port"`
	// TLS is true if clients are served with it, PeerTLS if members speak it
	// among themselves, ClientCertificates if clients must show one.
	TLS                bool `json:"tls"`
	PeerTLS            bool `json:"peerTLS"`
	ClientCertificates bool `json:"clientCertificates"`
	// Certificate, Key and Authority are paths inside the container.
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	Authority   string `json:"authority,omitempty"`
	// Options as spec.config would hold them, of those that are a person's to set.
	Options map[string]string `json:"options,omitempty"`
	// Dangerous are options that no cluster should run with.
	Dangerous []string `json:"dangerous,omitempty"`
	// Hidden says where else options may be that the pod does not show, "" for nowhere.
	Hidden string `json:"hidden,omitempty"`
}

// Risk is one danger that an engine knows of.
type Risk struct {
	// Subject is what it is about, What the danger in one sentence without a full stop.
	Subject string
	What    string
	// Severe is true if data or safety is at stake now, not one day.
	Severe bool
	// Evidence it rests on, and what to do.
	Evidence, Remedy []string
}
