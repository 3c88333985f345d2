package agreed

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	losses := map[protocol.Durability]string{protocol.Strict: "nothing", protocol.Preferred: "some",
		protocol.Async: "more"}
	for name, c := range map[string]struct {
		members int32
		config  map[string]string
		want    string
	}{
		"by default":        {3, nil, "durability preferred: some, up to 16Mi of the log"},
		"strict":            {3, map[string]string{"durability": "strict"}, "durability strict: nothing"},
		"another bound":     {2, map[string]string{"durability": "async", "max-lag": "1Ki"}, "more, up to 1Ki of the log"},
		"the lease":         {3, nil, "stops writes within 7s"},
		"direct":            {3, nil, "while the API server is away"},
		"one member":        {1, nil, "no failover"},
		"refused: no words": {3, map[string]string{"durability": "perhaps"}, ""},
	} {
		got := strings.Join(Promises(v1alpha1.DatabaseClusterSpec{Members: c.members, Config: c.config,
			Routing: v1alpha1.RoutingDirect}, losses), "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
