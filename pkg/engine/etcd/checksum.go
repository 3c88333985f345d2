package etcd

import (
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

// CheckStream implements engine.Snapshotter.
func (*Engine) CheckStream() io.WriteCloser { return datafile.NewChecksum() }
