package opstest

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// The pods of database serve a copy when they are told so.
func (d *Database) RecoveryPod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback = true
	pod, err := d.Pod(in)
	pod.Container.Args = append(pod.Container.Args, "--alone")
	return pod, err
}

func (*Database) InspectDataDir(string) engine.DataDirInfo { return engine.DataDirInfo{} }

func (*Database) CompareDataDirs(engine.Position, engine.Position) (int, bool) { return 0, true }

func (*Database) DataDirLag(engine.Gap) string { return "" }

func (*Database) SameDatabase(found, recorded string) bool { return found == recorded }

func (*Database) RecoveryNotice() string { return "" }
