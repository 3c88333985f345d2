package opstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Database is an engine with pods, snapshots and sessions. What a snapshot
// holds is its text; one that does not begin with "keys" is none.
type Database struct {
	Stub

	mu       sync.Mutex
	Sessions []*session
	Refuses  error
	// Model is what every new session is a copy of.
	Model session
}

func (*Database) Catalog() engine.Catalog {
	return engine.Catalog{Releases: []engine.Release{
		{Version: "1.0.0", Series: "1.0", Image: "example.com/stub:1.0.0"},
		{Version: "1.1.0", Series: "1.1", Image: "example.com/stub:1.1.0"},
		{Version: "1.2.0", Series: "1.2", Image: "example.com/stub:1.2.0"},
	}}
}

func (*Database) Pod(in engine.PodInput) (engine.Pod, error) {
	if in.Cluster.Spec.Config["broken"] != "" {
		return engine.Pod{}, errors.New("an option can't be rendered")
	}
	args := []string{"--name=" + in.Member, "--peers=" + strings.Join(in.Peers, ",")}
	if in.Bootstrap {
		args = append(args, "--found")
	}
	if in.Loopback {
		args = append(args, "--loopback")
	}
	return engine.Pod{Container: corev1.Container{Name: "stub", Image: in.Image, Args: args}, DataPath: "/var/lib/stub",
		DataDir: "/var/lib/stub/data", GraceSeconds: 5}, nil
}

func (*Database) DisableBootstrap(p corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	p = *p.DeepCopy()
	p.Spec.Containers[0].Args = slices.DeleteFunc(p.Spec.Containers[0].Args,
		func(a string) bool { return a == "--found" })
	return p
}

func (*Database) Ports(*v1alpha1.DatabaseCluster) []corev1.ServicePort {
	return []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}}
}

func (*Database) CheckRestore(from, target string) error {
	if from > target {
		return &engine.Refusal{Check: "older-version", Reason: fmt.Sprintf("%s can't read data of %s", target, from),
			Hint: "choose a newer one"}
	}
	return nil
}

func (d *Database) OpenSnapshot(path string, _ bool) (engine.SnapshotFacts, error) {
	return d.Opened(path)
}

func (*Database) Opened(path string) (engine.SnapshotFacts, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	if !bytes.HasPrefix(content, []byte("keys")) {
		return engine.SnapshotFacts{}, fmt.Errorf("%w: it begins with %.4q", engine.ErrNotSnapshot, content)
	}
	return engine.SnapshotFacts{Fingerprint: Fingerprint(len(content), "hash")}, nil
}

// LoadCommand makes a directory of the snapshot, as engines do.
func (*Database) LoadCommand(in engine.LoadInput) []string {
	return []string{"sh", "-c", `mkdir "$1" && cp "$0" "$1/db"`, in.File, in.DataDir}
}

func (d *Database) Connect(a engine.Access) (engine.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Refuses != nil {
		return nil, d.Refuses
	}
	s := d.Model
	s.Access = a
	d.Sessions = append(d.Sessions, &s)
	return &s, nil
}

// Last is the newest session.
func (d *Database) Last() *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Sessions[len(d.Sessions)-1]
}

// DataHash reads the file that LoadCommand is given.
func (d *Database) DataHash(file string, _ []string) (engine.DataHash, error) {
	facts, err := d.Opened(file)
	return engine.DataHash{Fingerprint: facts.Fingerprint, Mark: "mark"}, err
}

// Fingerprint is that of so many keys with that hash, at revision 7.
func Fingerprint(keys int, hash string) engine.Fingerprint {
	return engine.Fingerprint{Proof: engine.Proof(fmt.Sprintf("%d keys, %s", keys, hash)),
		Readings: []engine.Reading{{Name: "revision", Value: "7"}, {Name: "keys", Value: strconv.Itoa(keys)}}}
}

// CompareProofs is as plain as it gets.
func (*Database) CompareProofs(want, got engine.Proof) engine.Match { return match(want, got) }

func match(want, got engine.Proof) engine.Match {
	switch {
	case want == "" || got == "":
		return engine.MatchUnknown
	case want == got:
		return engine.MatchSame
	}
	return engine.MatchDifferent
}

// session notes what it is asked.
type session struct {
	Access engine.Access
	Asked  [][]string
	Calls  []string
	Closed bool
	// Set are the passwords that users were given, Whole the name of a user of which nothing is missing.
	Set   []engine.Credentials
	Whole string

	Err     error
	Content string
	Print   engine.Fingerprint
	Mark    string
	Silent  bool
	Checked engine.DataCheck
	Shows   engine.Presented
	Copies  []engine.Copy
}

func (s *session) Present(context.Context, string) (engine.Presented, error) {
	if s.Shows.Fingerprint == "" {
		return s.Shows, ErrStub
	}
	return s.Shows, nil
}

func (s *session) Observe(_ context.Context, members []string) engine.View {
	s.Asked = append(s.Asked, members)
	v := engine.View{}
	for _, m := range members {
		v.Members = append(v.Members, engine.Member{Name: m, Reachable: true, Serving: !s.Silent,
			Version: s.Access.Cluster.Spec.Version, ClusterID: "id", DataBytes: 100})
	}
	return v
}

func (s *session) did(format string, args ...any) error {
	s.Calls = append(s.Calls, fmt.Sprintf(format, args...))
	return s.Err
}

func (s *session) Register(_ context.Context, m string) error { return s.did("register %s", m) }

func (s *session) Promote(_ context.Context, m string) error { return s.did("promote %s", m) }

func (s *session) Deregister(_ context.Context, m, id string) error {
	return s.did("deregister %s", m+" "+id)
}

func (s *session) HandOver(_ context.Context, to string) error { return s.did("hand over to %s", to) }

// LeadClients implements engine.ClientLeader.
func (s *session) LeadClients(context.Context) error { return s.did("lead clients") }

func (s *session) PrepareUpgrade(_ context.Context, members []string, target string) error {
	return s.did("prepare %s for %s", strings.Join(members, ","), target)
}

func (s *session) AnnounceDowngrade(_ context.Context, target string) error {
	return s.did("announce the downgrade to %s", target)
}

func (s *session) WithdrawDowngrade(context.Context) error { return s.did("withdraw the downgrade") }

func (s *session) Compact(_ context.Context, members []string, before int64) error {
	return s.did("compact %s before %d", strings.Join(members, ","), before)
}

func (s *session) CompareCopies(_ context.Context, members []string) ([]engine.Copy, error) {
	return s.Copies, s.did("compare %s", strings.Join(members, ","))
}

func (s *session) ClearAlarms(_ context.Context, alarms []engine.Alarm) error {
	return s.did("disarm %v", alarms)
}

func (s *session) ProveWrite(_ context.Context, members []string) error {
	return s.did("prove a write at %s", strings.Join(members, ","))
}

func (s *session) Defragment(_ context.Context, m string) error { return s.did("defragment %s", m) }

// Snapshot fails, if it has to, in the middle.
func (s *session) Snapshot(_ context.Context, from string, w io.Writer, report func(int64)) error {
	n, err := io.WriteString(w, s.Content)
	report(int64(n))
	return errors.Join(err, s.did("snapshot %s", from))
}

func (s *session) Fingerprint(_ context.Context, m string) (engine.Fingerprint, error) {
	return s.Print, s.did("fingerprint %s", m)
}

// CheckData implements engine.DataChecker.
func (s *session) CheckData(context.Context, string) (engine.DataCheck, error) { return s.Checked, nil }

func (s *session) VerifyHash(_ context.Context, m, mark string) (bool, error) {
	return s.Mark == mark, s.did("attest %s", m)
}

func (s *session) Close() error { s.Closed = true; return nil }

func (s *session) Users(context.Context) ([]engine.User, error) {
	return []engine.User{{Name: "root", Admin: true}, {Name: "theirs"}}, s.did("list users")
}

// HasUser implements engine.UserJudge.
func (s *session) HasUser(_ context.Context, u engine.User) (bool, error) {
	return u.Name == s.Whole, s.did("judge user %s", u.Name)
}

func (s *session) EnsureUser(ctx context.Context, u engine.User, password string) error {
	s.Set = append(s.Set, engine.Credentials{User: u.Name, Password: password})
	return s.did("ensure %s as %q", u.Name, u.Role)
}

// RunOnce implements engine.SQLRunner. It refuses statements that begin with "refused".
func (s *session) RunOnce(_ context.Context, as engine.User, statements string) error {
	if strings.HasPrefix(statements, "refused") {
		return &engine.Refusal{Check: "initial-sql", Reason: "line 1: refused"}
	}
	return s.did("run %q once as %s in %q", statements, as.Role, as.Grants[0].Prefix)
}

// TestLogin implements engine.LoginTester.
func (s *session) TestLogin(_ context.Context, as engine.Credentials) (bool, error) {
	return as.Password != RefusedPassword, s.did("log in as %s", as.User)
}

func (s *session) DeleteUser(_ context.Context, name string) error {
	return s.did("delete user %s", name)
}

func (s *session) EnableAuth(context.Context) error { return s.did("enable") }

func (s *session) DisableAuth(context.Context) error { return s.did("disable") }

func (s *session) ProveAuth(ctx context.Context, client engine.Access) error {
	as, err := client.Credentials(ctx)
	if err != nil {
		return err
	}
	return s.did("prove as %s", as[0].User)
}

// TemplatePeers implements engine.TemplateReader.
func (*Database) TemplatePeers(_ *v1alpha1.DatabaseCluster, template corev1.PodTemplateSpec) []string {
	for _, arg := range template.Spec.Containers[0].Args {
		if peers, ok := strings.CutPrefix(arg, "--peers="); ok {
			return strings.Split(peers, ",")
		}
	}
	return nil
}

// RefusedPassword is one that the database does not accept.
const RefusedPassword = "refused"
