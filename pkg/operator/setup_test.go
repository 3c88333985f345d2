package operator

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestLegible: the source that is watched late is in the log by its kind.
func TestLegible(t *testing.T) {
	var out bytes.Buffer
	log := logr.FromSlogHandler(slog.NewJSONHandler(&out, nil))
	log.Info("Starting EventSource", "source", legible{source.Kind(nil, &v1alpha1.DatabaseBackup{},
		handler.TypedEnqueueRequestsFromMapFunc(askedOf), unanswered())})
	if said := out.String(); !strings.Contains(said, `"source":"kind source: *v1alpha1.DatabaseBackup"`) {
		t.Error(said)
	}
}
