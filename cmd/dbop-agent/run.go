//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/group"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/guard"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/member"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/proxy"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/service"
)

// Purposes of connections between agents, besides those of the group.
const (
	forLog group.Purpose = "log"
	forAPI group.Purpose = "api"
)

// retireTime bounds an orderly end of a primary, stopTime what is left for its server: less than the guard waits.
const (
	retireTime = 20 * time.Second
	stopTime   = 4 * time.Second
)

// agent joins the parts of one member.
type agent struct {
	config  config
	member  *member.Member
	group   *group.Group
	service *api.Service
	server  driver
	guard   *guard.Client
	agents  *api.Listener
	proxy   *proxy.Proxy
	// leader leads clients straight to the primary; nil if the proxies alone do.
	leader *service.Leader
	// identity proves this member to the others.
	identity *certificate.Keeper
	// advice answers clients of Sentinel; nil if nobody asked for that.
	advice advice
	// left gets the token of the incarnation that this member left for.
	left chan string
	// busy is told whether clients speak.
	busy func(bool)
}

// run runs an agent until the context is done. Then a primary hands over as well as it can.
func run(ctx context.Context, c config, busy func(bool)) (err error) {
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	claim, err := disk.Lock(filepath.Join(c.Directory, "lock"))
	if err != nil {
		return err
	}
	defer claim.Close() //nolint:errcheck // the kernel does it
	a := &agent{
		config: c, member: &member.Member{}, guard: guard.Dial(), agents: api.NewListener(), left: make(chan string, 1),
		busy: busy,
	}
	a.service = &api.Service{
		Member: c.Member, Agent: a.member, Now: guard.Now, Left: func(token string) { a.left <- token },
		Space: (&disk.Gauge{Directory: c.Directory}).Space,
	}
	probes, err := a.answerProbes()
	if err != nil {
		return err
	}
	defer probes.Close() //nolint:errcheck // nothing is asked any more
	if err := a.open(); err != nil {
		return err
	}
	clients, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return fmt.Errorf("listen for the tool: %w", err)
	}
	proof, shown, err := c.proof()
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() {
		serving <- a.service.Serve(clients, proof, a.agents)
	}()
	// The loop goes on while the agent retires.
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go a.identity.Run(loop, func(context.Context) error { return nil }, a.report)
	go shown.Run(loop, a.renew, a.report)
	passing := make(chan error, 1)
	go func() { passing <- a.proxy.Run(loop) }()
	advising := make(chan error, 1)
	go func() { advising <- a.advise(loop) }()
	if a.leader != nil {
		go a.leader.Run(loop)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.member.Run(loop, a.node()) }()
	select {
	case err := <-ended:
		return errors.Join(err, a.close()) // a guard that hangs ends no server
	case err := <-serving:
		return err
	case err := <-passing:
		return err
	case err := <-advising:
		return err
	case token := <-a.left:
		return fmt.Errorf("this member begins the incarnation %s when it is started with its token", token)
	case <-a.guard.Gone():
		// As the first process of a container it takes all others along; elsewhere this does.
		return errors.Join(errors.New("the guard is gone"), a.close())
	case <-ctx.Done():
		a.retire()
	}
	stop()
	return errors.Join(<-ended, clients.Close(), a.agents.Close())
}

// answerProbes listens for the kubelet, from before the group is opened: that may take a while.
func (a *agent) answerProbes() (io.Closer, error) {
	if a.config.Health.Listen == "" {
		return io.NopCloser(nil), nil
	}
	l, err := net.Listen("tcp", a.config.Health.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	h := &health.Health{Agent: a.member, Now: guard.Now, Leader: func() protocol.MemberID { return a.group.Leader() }}
	go func() {
		if err := h.Serve(l); err != nil {
			a.report("answer probes: " + err.Error())
		}
	}()
	return l, nil
}

// open opens the group and the server. No process of a server runs: the guard saw to that.
func (a *agent) open() (err error) {
	c := a.config
	if a.identity, err = c.identify(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen for other agents: %w", err)
	}
	if c.servers() > 0 {
		if err := a.openServer(); err != nil {
			return err
		}
	}
	timing := c.Settings.Timing
	if timing.Election == 0 {
		timing = protocol.DefaultTiming()
	}
	a.group, err = group.Open(group.Config{
		ID: c.Member, Token: c.Token, Directory: filepath.Join(c.Directory, "group"), Listener: listener,
		Identity: a.identity.Identity, Address: c.address, Bootstrap: c.voters(), Election: timing.Election,
		Ballast: c.Ballast, Deliver: a.member.Deliver, Report: a.report, Log: os.Stderr,
		Handlers: map[group.Purpose]func(protocol.MemberID, net.Conn){
			forAPI: a.agents.Handle,
			forLog: func(from protocol.MemberID, conn net.Conn) {
				if a.server != nil {
					a.server.Handle(from, conn)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	a.proxy, err = proxy.Open(proxy.Config{
		Member: c.Member, Listen: c.Proxy.Listen, ReadOnly: c.Proxy.ReadOnly, Address: c.serverAddress,
		Leader: a.group.Leader, Now: guard.Now, Report: a.report, Busy: a.busy,
	})
	if err != nil {
		return err
	}
	if err := a.openAdvice(); err != nil {
		return err
	}
	if c.Service != nil {
		a.leader = service.New(service.Config{Member: c.Member, Token: c.Token, Service: *c.Service, Now: guard.Now,
			Report: a.report})
		a.service.Clients = a.leader
	}
	a.member.Route = a.route
	a.service.Group = a.group
	a.service.Start, _, _ = a.group.Start()
	a.service.Dial = func(id protocol.MemberID) (net.Conn, error) { return a.group.Dial(id, forAPI) }
	a.member.Group, a.member.Guard, a.member.Now, a.member.Report = a.group, a.guard, guard.Now, a.report
	if a.server != nil {
		a.service.Users, _ = a.server.(api.Users)
		a.service.Tuner, _ = a.server.(api.Tuner)
		a.service.Copier, _ = a.server.(api.Copier)
		a.service.Meter, _ = a.server.(api.Meter)
		a.service.Log, _ = a.server.(api.LogKeeper)
		a.service.Mover, _ = a.server.(api.Mover)
		if r, ok := a.server.(releaser); ok {
			a.service.Version = r.Release()
		}
		a.member.Server = a.server
	} else {
		a.member.Server = member.Witness{}
	}
	return nil
}

// renew has the server show a certificate that replaced another one. The agent shows it to the tool after that: so who
// sees it there knows that clients do.
func (a *agent) renew(ctx context.Context) error {
	if r, ok := a.server.(renewer); ok {
		return r.Renew(ctx)
	}
	return nil
}

// serves says whether the log of this member's server may go to another member.
func (a *agent) serves(g protocol.Generation, to protocol.MemberID) (yes bool) {
	a.member.View(func(n *protocol.Node) {
		m, known := n.Document().Members[to]
		yes = known && !m.Leaving && n.Document().Generation == g && n.Serves(guard.Now())
	})
	return yes
}

// told is where the data of another member ends, as that told last.
func (a *agent) told(id protocol.MemberID) (at protocol.Position) {
	a.member.View(func(n *protocol.Node) { at = n.Received(id) })
	return at
}

func (a *agent) node() *protocol.Node {
	number, nonce, last := a.group.Start()
	return protocol.New(protocol.Config{
		ID: a.config.Member, Found: a.config.found(), Start: number, Nonce: nonce, LastIndex: last,
		Remembered: a.group.Remembered(), Now: guard.Now(),
	})
}

// retire has the server stop in order, and the lease released.
func (a *agent) retire() {
	a.report("the agent is asked to end")
	ctx, stop := context.WithTimeout(context.Background(), retireTime+stopTime)
	defer stop()
	a.member.Deliver(protocol.Retire{})
	a.group.StepDown()
	for began := time.Now(); time.Since(began) < retireTime; time.Sleep(20 * time.Millisecond) {
		retired := false
		a.member.View(func(n *protocol.Node) { retired = n.Retired() })
		if retired {
			break
		}
	}
	if a.server != nil {
		if err := a.server.Do(ctx, protocol.Job{Kind: protocol.StopFast}, nil); err != nil {
			a.report(err.Error())
		}
	}
}

// close kills the server.
func (a *agent) close() error {
	if a.server == nil {
		return nil
	}
	return a.server.StopNow()
}

func (a *agent) report(what string) {
	fmt.Fprintf(os.Stderr, "%s agent %s: %s\n", time.Now().UTC().Format("2006-01-02 15:04:05.000"), a.config.Member, what)
	a.service.Note(what)
}
