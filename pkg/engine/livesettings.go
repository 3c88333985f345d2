package engine

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// LiveSettings is what an Engine also is if its members agree on the settings of their servers, and change them while
// they run. Its sessions are Configurers, and their views hold Settings.
type LiveSettings interface {
	// LiveOptions are the settings that a spec asks for, as View.Settings names them. It is pure.
	LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error)
	// AtStart lists those of the options that a server of the version takes only when it starts. It is pure, and for
	// plans alone: which members must restart is observed.
	AtStart(version string, options []string) []string
	// LeaderFirst lists the options that a replica takes only once the leader has them. It is pure, and for plans alone.
	LeaderFirst(have, want map[string]string) []string
	// Keeps says why an option is not a person's to set; "" if it is. It is pure.
	Keeps(option string) string
}

// FixedSettings is what an engine of LiveSettings also is if some of them are given when a cluster is made, and stay.
type FixedSettings interface {
	LiveSettings
	// FixedOptions lists them. It is pure.
	FixedOptions() []string
}

// Configurer is what a Session also is if its engine has LiveSettings.
type Configurer interface {
	// Configure has the members agree on the settings of a spec. What the database would not take is a Refusal, and
	// changes nothing. A repeat has no effect.
	Configure(ctx context.Context, spec v1alpha1.DatabaseClusterSpec) error
}
