package external

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Config says which database to read, and with what.
type Config struct {
	Client *kube.Client
	Dialer *dial.Dialer
	// Engine is the product; nil for the one of Engines whose members the pods resemble.
	Engine  engine.Engine
	Engines []engine.Engine
	// Namespace and one of: Name of a StatefulSet or of a cluster of ours, a
	// label Selector, or Endpoints, each "pod:port" or a URL.
	Namespace, Name, Selector string
	Endpoints                 []string
	// Secrets to speak to it with; "" leaves it to what its pods show.
	CertSecret, CASecret, UserSecret string
	// Tool is this tool's version.
	Tool string
}

// Cluster is a database that something else made. Nothing is ever written to
// it, and nothing of it is recorded: the session is read-only, and no lease is
// held on what is not ours.
type Cluster struct {
	Config

	recognizer engine.Recognizer
	outside    engine.ExternalEngine // nil where members have nothing beside them
	found      external.Cluster
	members    []outsideMember
	session    engine.Session
	// secure is true if clients are served with TLS.
	secure bool
	// guesses say what nobody told and how it is known.
	guesses []string
}

// outsideMember is one member as it is reached. Its name is that of its pod,
// or the host of its URL.
type outsideMember struct {
	name  string
	pod   external.Pod
	port  int
	url   *url.URL
	trace engine.MemberConfig
}

// Open finds the members and prepares to speak to them; Close is the
// caller's.
func Open(ctx context.Context, c Config) (*Cluster, error) {
	o := &Cluster{Config: c}
	if err := o.find(ctx); err != nil {
		return nil, err
	}
	var ok bool
	if o.outside, ok = o.Engine.(engine.ExternalEngine); ok {
		o.Engine = o.outside.External()
	}
	if err := o.connect(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// Close ends all connections.
func (o *Cluster) Close() error { return o.session.Close() }

// Title is what the database is called: what was named, else what its pods have in common.
func (o *Cluster) Title() string {
	switch {
	case o.Name != "":
		return o.Name
	case len(o.members) == 0 && o.Engine != nil:
		return o.Engine.Name()
	case len(o.members) == 0:
		return "the database"
	}
	first, _, _ := strings.Cut(o.members[0].name, ".")
	if i := strings.LastIndex(first, "-"); i > 0 {
		if _, err := strconv.Atoi(first[i+1:]); err == nil {
			return first[:i]
		}
	}
	return first
}

// find lists the members.
func (o *Cluster) find(ctx context.Context) error {
	pods, err := o.endpoints()
	if err != nil {
		return err
	}
	if len(o.members) == 0 || len(pods) > 0 {
		if o.found, err = external.Find(ctx, o.Client, o.Namespace,
			external.Query{Name: o.Name, Selector: o.Selector, Pods: pods}); err != nil {
			return o.notFound(err)
		}
	} else {
		o.found = external.Cluster{Namespace: o.Namespace, Found: "endpoints"}
	}
	if err := o.choose(); err != nil {
		return err
	}
	for _, pod := range o.found.Pods {
		m := outsideMember{name: pod.Name, pod: pod}
		trace, recognized := o.recognizer.Recognize(pod.Spec)
		if !recognized && len(pods) == 0 {
			continue // a neighbour under the same labels
		}
		m.trace, m.port = trace, trace.Port
		m.trace.Member = pod.Name
		if i := slices.IndexFunc(o.members, func(m outsideMember) bool { return m.name == pod.Name }); i >= 0 {
			if o.members[i].port != 0 {
				m.port = o.members[i].port
			}
			o.members[i] = m
			continue
		}
		o.members = append(o.members, m)
	}
	if len(o.members) == 0 {
		return o.noPods(o.Engine.Name())
	}
	return nil
}

func (o *Cluster) noPods(products string) error {
	return &ops.Error{Kind: ops.Failed, Check: "not-found",
		Message: fmt.Sprintf("%s in namespace %s has no pods that resemble %s", o.found.Found, o.Namespace, products),
		Hint:    "name them: --endpoints POD:PORT,POD:PORT"}
}

// choose finds the product, where nobody named it: the only one whose members some of the pods resemble. URLs are those
// of a product whose members are asked by HTTP.
func (o *Cluster) choose() error {
	if o.Engine != nil {
		var ok bool
		if o.recognizer, ok = o.Engine.(engine.Recognizer); !ok {
			return &ops.Error{Kind: ops.Refused, Check: "engine", Message: "members of " + o.Engine.Name() +
				" that something else made can't be inspected", Hint: "kubectl dbop engines"}
		}
		return nil
	}
	var fit []engine.Engine
	var names []string
	for _, e := range o.Engines {
		r, ok := e.(engine.Recognizer)
		if !ok {
			continue
		}
		names = append(names, e.Name())
		_, byWire := e.(engine.ExternalEngine)
		if slices.ContainsFunc(o.found.Pods, func(p external.Pod) bool { _, is := r.Recognize(p.Spec); return is }) ||
			len(o.found.Pods) == 0 && !byWire {
			fit = append(fit, e)
		}
	}
	switch {
	case len(fit) == 1:
		o.Engine = fit[0]
		return o.choose()
	case len(fit) == 0 && len(o.Endpoints) == 0:
		return o.noPods(strings.Join(names, " or "))
	}
	return &ops.Error{Kind: ops.Refused, Check: "engine", Message: "it is not clear which database product runs there",
		Hint: "name it: --engine " + strings.Join(names, " or --engine ")}
}

func (o *Cluster) notFound(err error) error {
	if ops.KindOf(err) == ops.Failed && ops.IgnoreNotFound(err) == nil {
		return &ops.Error{Kind: ops.Failed, Check: "not-found",
			Message: fmt.Sprintf("there is neither a StatefulSet nor a cluster %q in namespace %s", o.Name, o.Namespace),
			Hint:    "kubectl get statefulsets -A; pods without one are found by --selector", Err: nil}
	}
	return err
}

// endpoints reads the list of places; those that are pods are returned.
func (o *Cluster) endpoints() ([]string, error) {
	var pods []string
	for _, e := range o.Endpoints {
		if strings.Contains(e, "://") {
			u, err := url.Parse(e)
			if err != nil || u.Hostname() == "" || u.Port() == "" || (u.Scheme != "http" && u.Scheme != "https") {
				return nil, wrongEndpoint(e)
			}
			o.members = append(o.members, outsideMember{name: u.Hostname(), url: u})
			continue
		}
		name, port, given := strings.Cut(e, ":")
		m := outsideMember{name: name}
		if given {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, wrongEndpoint(e)
			}
			m.port = int(n)
		}
		if name == "" {
			return nil, wrongEndpoint(e)
		}
		o.members = append(o.members, m)
		pods = append(pods, name)
	}
	return pods, nil
}

func wrongEndpoint(e string) error {
	return &ops.Error{Kind: ops.Refused, Check: "endpoints", Message: fmt.Sprintf("%q is no endpoint", e),
		Hint: "write POD:PORT, or a URL such as https://host:2379"}
}

// running are the members that can be asked.
func (o *Cluster) running() []outsideMember {
	var out []outsideMember
	for _, m := range o.members {
		if m.url != nil || m.pod.Running && !m.pod.Terminating {
			out = append(out, m)
		}
	}
	return out
}

// dial reaches a member where it really is.
func (o *Cluster) dial(ctx context.Context, m outsideMember) (net.Conn, error) {
	if m.url != nil {
		return new(net.Dialer).DialContext(ctx, "tcp", m.url.Host)
	}
	return o.Dialer.DialPod(ctx, o.Namespace, m.pod.Name, m.port)
}

// standIn is the cluster object that a session takes its names from.
func (o *Cluster) standIn() *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = o.Title(), o.Namespace
	c.Spec.Engine, c.Spec.TLS.Disabled = o.Engine.Name(), !o.secure
	return c
}
