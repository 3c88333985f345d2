package agreed

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const (
	// ArchiveRepository is the option that has the log archived.
	ArchiveRepository = "archive-repository"
	// ArchiveTimeout bounds what the loss of all members takes along, unless a person sets another time.
	ArchiveTimeout = "60s"
)

// ArchiveInterval is what an option of that name says, or the time that holds without it; "" where it is switched off.
func ArchiveInterval(config map[string]string, option string) string {
	text := cmp.Or(config[option], ArchiveTimeout)
	switch {
	case !strings.ContainsAny(text, "123456789"):
		return "" // 0, of any unit
	case strings.Trim(text, "0123456789") == "":
		return text + "s"
	}
	return text
}

// WithoutArchive takes the option that has the log archived out of a copy of the options, and says whether it was
// there.
func WithoutArchive(config map[string]string) (rest map[string]string, archives bool, err error) {
	repository, archives := config[ArchiveRepository]
	if !archives {
		return config, false, nil
	}
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`).MatchString(repository) {
		return nil, true, &engine.Refusal{Check: "settings",
			Reason: "the option " + ArchiveRepository + " takes the name of an object store, not " + repository,
			Hint:   "kubectl dbop repository list shows those of the namespace; repository add makes one"}
	}
	rest = maps.Clone(config)
	delete(rest, ArchiveRepository)
	return rest, true, nil
}
