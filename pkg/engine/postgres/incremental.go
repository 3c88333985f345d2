package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

var _ engine.Incremental = (*Engine)(nil)

const (
	// firstIncremental is the first version whose server notes which blocks change, if it is set to.
	firstIncremental = 17
	summarize        = "summarize_wal"
)

// NewBase implements engine.Incremental.
func (*Engine) NewBase() engine.Base { return basebackup.NewBase(api.MostBase) }

// CheckIncremental implements engine.Incremental.
func (*Engine) CheckIncremental(c *v1alpha1.DatabaseCluster, repository string) error {
	if at, ok := parse(c.Spec.Version); ok && at.major < firstIncremental {
		return &engine.Refusal{Check: "incremental", Reason: fmt.Sprintf(
			"%s runs PostgreSQL %s: incremental backups take %d or later", c.Name, c.Spec.Version, firstIncremental),
			Hint: fmt.Sprintf("take a full backup: kubectl dbop backup %s -n %s", c.Name, c.Namespace)}
	}
	if !on(c.Spec.Config[summarize]) {
		return &engine.Refusal{Check: "incremental", Reason: "the servers of " + c.Name +
			" do not note which blocks change: " + summarize + " is off",
			Hint: fmt.Sprintf("kubectl dbop configure %s --set %s=on -n %s; then take a full backup: %s", c.Name, summarize,
				c.Namespace, fullBackup(c, repository))}
	}
	return nil
}

// fullBackup is the command that takes one.
func fullBackup(c *v1alpha1.DatabaseCluster, repository string) string {
	return fmt.Sprintf("kubectl dbop backup %s -n %s --repository %s", c.Name, c.Namespace, repository)
}

// IncrementalSource implements engine.Incremental. Of the members that keep the newest full backup it takes the one
// that a full backup would be taken of, or any other that is healthy.
func (e *Engine) IncrementalSource(v engine.View, c *v1alpha1.DatabaseCluster, repository string) (engine.BaseOf,
	error) {
	if err := e.CheckIncremental(c, repository); err != nil {
		return engine.BaseOf{}, err
	}
	preferred, newest := e.Source(v, false), engine.BaseOf{}
	for _, m := range v.Members {
		if e.Health(v, m.Name) != nil {
			continue
		}
		for _, b := range m.Bases {
			if b.Repository == repository && (b.Backup > newest.Backup || b.Backup == newest.Backup && m.Name == preferred) {
				newest = engine.BaseOf{Member: m.Name, Backup: b.Backup, Repository: repository}
			}
		}
	}
	if newest.Backup == "" {
		return engine.BaseOf{}, &engine.Refusal{Check: "incremental", Reason: fmt.Sprintf(
			"no healthy member of %s keeps the manifest of a full backup in %s", c.Name, repository),
			Hint: "take a full backup first: " + fullBackup(c, repository)}
	}
	return newest, nil
}

// on reads a setting as the server does.
func on(value string) bool {
	return slices.Contains([]string{"on", "true", "yes", "1", "t", "y", "tr", "tru", "ye"}, strings.ToLower(value))
}
