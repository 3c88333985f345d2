//go:build e2e

package valkey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
)

// outside is a server that something else made, with a client that writes to it and prints each number that was
// acknowledged.
const outside = `
apiVersion: v1
kind: Secret
metadata: {name: outside}
stringData: {password: of-the-outside}
---
apiVersion: v1
kind: Pod
metadata: {name: outside, labels: {app: outside}}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: server
    image: %[1]s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    command: [sh, -c, 'exec redis-server --requirepass "$PASSWORD" --dir /tmp']
    env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: outside, key: password}}}]
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {selector: {app: outside}, ports: [{port: 6379}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: %[1]s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    env: [{name: REDISCLI_AUTH, valueFrom: {secretKeyRef: {name: outside, key: password}}}]
    command:
    - sh
    - -c
    - 'i=0; while :; do i=$((i+1)); if [ "$(redis-cli -h outside SADD written $i 2>/dev/null)" = 1 ]; then echo $i;
      else sleep 0.1; fi; done'
`

// TestMoveIn moves from a Redis that something else made to Valkey, while a client writes to it and the first primary
// of the new cluster is deleted. Every write that Redis acknowledged is there after the cut over.
func TestMoveIn(t *testing.T) {
	s := scene.New(t, "move-in")
	to := release(s, "valkey", 8)
	runOutside(s)
	move := []string{"--from-primary", "outside:6379", "--from-secret", "outside"}
	if r := s.Must("plan", "create", "db", "--engine", "valkey", "--version", to.Version, "--image", to.Image,
		move[0], move[1]); !strings.Contains(r.Stdout, "users and settings of outside:6379 do not come along") {
		t.Errorf("the plan does not tell what stays behind:\n%s", r.Stdout)
	}
	create(s, "valkey", to, "3", move...)
	s.Healthy(3)
	r := s.Must("status", "db")
	for _, words := range []string{"it takes no writes", "follows outside:6379", "plan cutover db"} {
		if !strings.Contains(r.Stdout, words) {
			t.Errorf("status does not tell %q:\n%s", words, r.Stdout)
		}
	}
	s.Must("user", "create", "db", "alice", "--prefix", "written")
	time.Sleep(5 * time.Second) // every two seconds the others ask for users
	s.Kill(s.Member("primary"), true)
	s.Healthy(3)
	s.Must("status", "db")

	r = s.Must("cutover", "db")
	if !strings.Contains(r.Stdout, "nobody could write for") {
		t.Errorf("the gap is not told:\n%s", r.Stdout)
	}
	t.Log(strings.TrimSpace(r.Stdout))
	s.Refused(4, "follows no other server", "cutover", "db")
	movedIn(s)
	s.Kill(s.Member("primary"), false)
	s.Healthy(3)
	if r := s.Must("user", "list", "db"); !strings.Contains(r.Stdout, "alice") {
		t.Errorf("the users are:\n%s", r.Stdout)
	}
	s.Must("delete", "db", "--skip-backup", "--purge", "--yes")
}

// runOutside runs the server outside and its client.
func runOutside(s *scene.Scene) {
	s.Helper()
	apply(s, fmt.Sprintf(outside, release(s, "redis", 7).Image))
	kubectl(s, "wait", "--for=condition=Ready", "pod/outside", "pod/client", "--timeout=60s")
}

// movedIn asks that the cluster takes writes and holds all that the server outside acknowledged.
func movedIn(s *scene.Scene) {
	s.Helper()
	there := map[string]bool{}
	for _, row := range command(s, "SMEMBERS", "written") {
		there[row] = true
	}
	rows := strings.Fields(kubectl(s, "logs", "client"))
	for _, row := range rows {
		if !there[row] {
			s.Errorf("the write %s was acknowledged, and is not there", row)
		}
	}
	s.Logf("%d writes were acknowledged", len(rows))
	if got := command(s, "SADD", "written", "after"); len(rows) == 0 || got[0] != "1" {
		s.Errorf("a write is answered %q", got)
	}
}
