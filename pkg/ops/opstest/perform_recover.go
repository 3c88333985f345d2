package opstest

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// The pods of database serve a copy when they are told so.
func (d *Database) SalvagePod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback = true
	pod, err := d.Pod(in)
	pod.Container.Args = append(pod.Container.Args, "--alone")
	return pod, err
}

func (*Database) Examine(string) engine.Remains { return engine.Remains{} }

func (*Database) CompareRemains(engine.Position, engine.Position) (int, bool) { return 0, true }

func (*Database) RemainsLag(engine.Gap) string { return "" }
