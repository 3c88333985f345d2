package postgres

import (
	"maps"
	"regexp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

var _ engine.LogArchiver = (*Engine)(nil)

// archiveRepository is the option that turns the archive of the log on.
const archiveRepository = "archive-repository"

// archiveTimeout bounds what the loss of all members takes along, unless a person sets archive_timeout.
const archiveTimeout = "60s"

// ArchiveRepository implements engine.LogArchiver.
func (*Engine) ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string {
	return spec.Config[archiveRepository]
}

// settings reads the options of a spec. With an archive every member keeps its log until that has it: then a failover
// leaves no gap.
func settings(config map[string]string) (protocol.Settings, error) {
	repository, archives := config[archiveRepository]
	if !archives {
		return agreed.Settings(config)
	}
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`).MatchString(repository) {
		return protocol.Settings{}, &engine.Refusal{Check: "settings",
			Reason: "the option " + archiveRepository + " takes the name of an object store, not " + repository,
			Hint:   "kubectl dbop repository list shows those of the namespace; repository add makes one"}
	}
	config = maps.Clone(config)
	delete(config, archiveRepository)
	config["archive_mode"] = "always"
	if config["archive_timeout"] == "" {
		config["archive_timeout"] = archiveTimeout
	}
	return agreed.Settings(config)
}
