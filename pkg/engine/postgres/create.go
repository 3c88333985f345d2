package postgres

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// CheckCreate implements engine.Rules.
func (e *Engine) CheckCreate(spec v1alpha1.DatabaseClusterSpec, force bool) error {
	if err := e.Rules.CheckCreate(spec, force); err != nil {
		return err
	}
	if spec.TLS.Disabled {
		return &engine.Refusal{Check: "tls", Reason: "the agents of " + Name + " know each other by their certificates",
			Hint: "leave --no-tls out"}
	}
	if !spec.Auth.Enabled {
		return &engine.Refusal{Check: "auth", Reason: "clients of " + Name + " always log in",
			Hint: "set spec.auth.enabled"}
	}
	if v, ok := parse(spec.Version); ok && v.major < oldest {
		return &engine.Refusal{Check: "version",
			Reason: fmt.Sprintf("PostgreSQL %s is older than %d", spec.Version, oldest),
			Hint:   "kubectl dbop engines lists the versions"}
	}
	return e.Lint(spec.Config, spec.Version)
}

// CheckSettings implements engine.Rules.
func (e *Engine) CheckSettings(_ engine.View, spec v1alpha1.DatabaseClusterSpec, _ bool) error {
	return e.Lint(spec.Config, spec.Version)
}
