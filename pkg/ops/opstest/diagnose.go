package opstest

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func (Advised) SpaceOption() string { return "room" }

func (Advised) Advise(_ *v1alpha1.DatabaseCluster, member, alarm string) (engine.Advice, bool) {
	return engine.Advice{Meaning: "it is full", Remedy: []string{"empty " + member}}, alarm == "NOSPACE"
}

// Explain makes the stub one that knows some last words.
func (Advised) Explain(_ *v1alpha1.DatabaseCluster, member, words string) (engine.Advice, bool) {
	return engine.Advice{Meaning: "it is rotten", Remedy: []string{"renew " + member}}, words == "as the cluster says"
}
