package diagnostics

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/dbop-dev/kubectl-dbop/pkg/bundle"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// gatherer fills an archive. What fails is noted there and keeps nothing else out.
type gatherer struct {
	f       *command.Factory
	masker  *bundle.Masker
	archive *bundle.Archive
	tail    int64
}

// gather learns all secrets of all clusters before it writes the first file.
func (g *gatherer) gather(ctx context.Context, targets []*clients.Target) {
	found := make([]observe.Evidence, len(targets))
	for i, t := range targets {
		found[i] = g.f.Clients.Evidence(ctx, t.Namespace, t.Cluster.Name)
		for _, o := range found[i].Objects {
			if s, ok := o.(*corev1.Secret); ok {
				g.masker.Learn(s)
			}
		}
	}
	g.versions()
	for i, t := range targets {
		dir := path.Join(t.Namespace, t.Cluster.Name)
		g.objects(dir, found[i])
		g.judgements(ctx, dir, t)
		g.logs(ctx, dir, t)
	}
}

func (g *gatherer) versions() {
	sheet := newVersionSheet(g.f)
	var err error
	if sheet.Server, err = g.f.Clients.ServerVersion(); err != nil {
		g.archive.Missing("version of the server", err)
	}
	g.sheet("version.yaml", sheet)
}

func (g *gatherer) objects(dir string, e observe.Evidence) {
	for _, o := range e.Objects {
		kind := strings.ToLower(o.GetObjectKind().GroupVersionKind().Kind)
		text, err := g.masker.Object(o)
		if err != nil {
			g.archive.Missing(kind+" "+o.GetName(), err)
			continue
		}
		if o.GetNamespace() == "" {
			g.archive.Add(path.Join(kind+"s", o.GetName()+".yaml"), text)
			continue
		}
		g.archive.Add(path.Join(dir, "objects", kind+"-"+o.GetName()+".yaml"), text)
	}
	for _, m := range e.Missing {
		g.archive.Missing(dir+": "+m.What, m.Err)
	}
}

// judgements are what the tool itself says of the cluster.
func (g *gatherer) judgements(ctx context.Context, dir string, t *clients.Target) {
	s, err := g.f.ObserveOnce(ctx, t, command.ObserveWithin, nil)
	if err != nil {
		g.archive.Missing(dir+": state", err)
		return
	}
	g.sheet(path.Join(dir, "status.yaml"), newStatusSheet(t.Engine, s))
	g.sheet(path.Join(dir, "diagnosis.yaml"), health.Diagnose(t.Engine, s, planner.Verbs()))
	if s.Operation != nil {
		g.sheet(path.Join(dir, "plan.yaml"), planner.MakePlan(t.Engine, s))
	}
}

func (g *gatherer) sheet(name string, v any) {
	raw, err := yaml.Marshal(v)
	if err != nil {
		g.archive.Missing(name, err)
		return
	}
	g.archive.Add(name, string(raw))
}

// logs reads every container of every pod, and what it said before its last restart.
func (g *gatherer) logs(ctx context.Context, dir string, t *clients.Target) {
	found, err := g.f.Clients.Pods(ctx, t.Namespace, logSelector(t.Cluster.Name))
	if err != nil {
		g.archive.Missing(dir+": logs", err)
		return
	}
	for _, p := range found {
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			g.log(ctx, dir, p, c.Name, false)
			if c.RestartCount > 0 {
				g.log(ctx, dir, p, c.Name, true)
			}
		}
	}
}

// maxLog bounds what one log adds to the bundle.
const maxLog = 64 << 20

func (g *gatherer) log(ctx context.Context, dir string, p corev1.Pod, container string, previous bool) {
	name := path.Join(dir, "logs", p.Name, container)
	if previous {
		name += ".previous"
	}
	o := corev1.PodLogOptions{Container: container, Previous: previous, Timestamps: true}
	if g.tail >= 0 {
		o.TailLines = &g.tail
	}
	log, err := g.f.Clients.Logs(ctx, p.Namespace, p.Name, o)
	if err != nil {
		g.archive.Missing(name, err)
		return
	}
	defer func() { _ = log.Close() }()
	text, err := io.ReadAll(io.LimitReader(log, maxLog))
	if err == nil && len(text) == maxLog {
		err = fmt.Errorf("longer than %d bytes", maxLog)
	}
	if err != nil {
		// What was read until then may be what matters.
		g.archive.Missing(name, fmt.Errorf("cut off: %w", err))
	}
	g.archive.Add(name+".log", string(text))
}
