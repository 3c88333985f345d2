package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// EnvBackup holds a BackupRequest as JSON, in the pod that carries it out. It holds no secret.
const EnvBackup = "DBOP_BACKUP"

// EnvArchive holds a copy of the record of the cluster whose log is archived, as JSON. It holds no secret.
const EnvArchive = "DBOP_ARCHIVE"

// Where a pod that takes or loads a backup finds what it needs.
const (
	MountedRepository = "/etc/dbop/repository"
	BackupTLS         = "/etc/dbop/tls"
	BackupLogin       = "/etc/dbop/login"
	BackupStaging     = "/staging"
	// MountedAuthority is a file with the certificates that the API server is trusted by.
	MountedAuthority = "/etc/dbop/kubernetes/ca.crt"
)

// ErrTooLong: what a member streams is longer than its volume can hold.
var ErrTooLong = errors.New("the snapshot is longer than the member's volume can hold")

// BackupRequest says what to back up. Cluster is a copy of the record.
type BackupRequest struct {
	Cluster *v1alpha1.DatabaseCluster `json:"cluster"`
	// Member that streams its data, and Version that it runs.
	Member  string `json:"member"`
	Version string `json:"version"`
	// ClusterID is the database's own.
	ClusterID string `json:"clusterID,omitempty"`
	Backup    string `json:"backup"`
	// Parent is the full backup that it adds to; "" for a full one.
	Parent    string `json:"parent,omitempty"`
	Operation string `json:"operation"`
	Scheduled bool   `json:"scheduled,omitempty"`
	// Members held data when it was asked for.
	Members []string `json:"members,omitempty"`
	// Most is how many bytes the snapshot may have; 0 for any number.
	Most int64 `json:"most,omitempty"`
}

// BackupOptions are what the command "helper backup" is told.
type BackupOptions struct {
	Request    BackupRequest
	Repository repository.Repository
	Engine     engine.Engine
	Session    engine.Session
	Tool       string
	Now        func() time.Time
	// Report is the file for the result, the pod's termination log; "" for none.
	Report string
}

// BackupReport is what a backup leaves for who asked for it.
type BackupReport struct {
	Backup string `json:"backup"`
	Bytes  int64  `json:"bytes"`
	Stored int64  `json:"stored,omitempty"`
	Holds  string `json:"holds"`
}

// Run takes one backup. If the operation took it before, that one is reported. A process that is killed leaves no
// backup, and a repeat begins again.
func (o BackupOptions) Run(ctx context.Context) error {
	m, err := o.take(ctx)
	if err != nil {
		return fmt.Errorf("back up %s: %w", o.Request.Member, err)
	}
	if o.Report == "" {
		return nil
	}
	report, err := json.Marshal(BackupReport{Backup: m.ID, Bytes: m.Bytes, Stored: m.Stored, Holds: m.Facts.Summary()})
	if err == nil {
		err = os.WriteFile(o.Report, report, 0o600)
	}
	if err != nil {
		return fmt.Errorf("report backup %s: %w", m.ID, err)
	}
	return nil
}

func (o BackupOptions) take(ctx context.Context) (m repository.Manifest, err error) {
	r := o.Request
	have, err := o.Repository.Get(ctx, r.Backup)
	if err == nil && have.Operation == r.Operation {
		return have, nil
	}
	if err != nil && !errors.Is(err, repository.ErrNotFound) {
		return m, err
	}
	w, err := o.Repository.Writer(ctx, r.Backup, r.Operation)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	m = repository.Manifest{Engine: o.Engine.Name(), Cluster: r.Cluster.Name, Namespace: r.Cluster.Namespace,
		Version: r.Version, ClusterID: r.ClusterID, Member: r.Member, Operation: r.Operation, ID: r.Backup, Tool: o.Tool,
		Parent: r.Parent, Scheduled: r.Scheduled, StartedAt: o.Now()}
	if b := r.Cluster.Status.Bootstrap; b != nil {
		m.Incarnation = b.Token
	}
	bounded := &bounded{Writer: w, left: r.Most, any: r.Most == 0}
	left, err := Stream(ctx, o.Engine, o.Session, r.Member, r.Parent, bounded, nil)
	if err != nil {
		return m, err
	}
	m.FinishedAt = o.Now()
	// The session checked the stream.
	m, err = w.Commit(ctx, m, func(path string) (engine.SnapshotFacts, error) {
		facts, err := o.Engine.OpenSnapshot(path, true)
		return facts.Among(r.Members), err
	})
	if err == nil {
		left.Keep(ctx, r.Members, r.Backup, o.Repository.URL())
	}
	return m, err
}

// bounded takes so many bytes and no more: what runs there may be no database, and its stream may have no end.
type bounded struct {
	io.Writer

	left int64
	any  bool
}

func (w *bounded) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 && !w.any {
		return 0, ErrTooLong
	}
	return w.Writer.Write(p)
}
