//go:build e2e

package valkey

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// deathsWithin bounds all deaths of one verb.
	deathsWithin = time.Hour
	// operatorsDie names the section of the results.
	operatorsDie = "Valkey: operators that die"
)

// mover is a scene with a server outside that a cluster moves in from.
type mover struct {
	*scene.Scene

	to      harness.Release
	members string
}

// newMover is one that lasts as long as all deaths take. The short form has one member.
func newMover(t *testing.T) *mover {
	t.Helper()
	m := &mover{Scene: scene.New(t, "move-in-kill"), members: "1"}
	if torture.Full() {
		m.members = "3"
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.Ctx), deathsWithin)
		t.Cleanup(cancel)
		m.Ctx = ctx
	}
	m.to = release(m.Scene, "valkey", 8)
	runOutside(m.Scene)
	return m
}

// Load implements torture.Scene: the client writes to the server outside.
func (m *mover) Load() func() time.Duration { return func() time.Duration { return -1 } }

// creation is the command that begins to follow.
func (m *mover) creation() []string {
	return []string{"create", "db", "--engine", "valkey", "--version", m.to.Version, "--image", m.to.Image,
		"--members", m.members, "--storage", "1Gi", "--from-primary", "outside:6379", "--from-secret", "outside"}
}

// follows asks that the cluster follows, and that there is one volume a member.
func (m *mover) follows() {
	m.Helper()
	m.OK(harness.Until(m.Ctx, time.Minute, "the cluster to follow", func(context.Context) error {
		r := m.Try("status", "db")
		if r.Code != 0 || !strings.Contains(r.Stdout, "follows outside:6379") {
			return errors.New(r.Stdout)
		}
		return nil
	}))
	pods := m.Members()
	claims := strings.Fields(kubectl(m.Scene, "get", "pvc", "-l", "dbop.dev/cluster=db", "-o", "name"))
	if strconv.Itoa(len(pods)) != m.members || len(claims) != len(pods) {
		m.Errorf("there are %d pods and %d volumes", len(pods), len(claims))
	}
}

// TestMoveInKilled kills the tool with SIGKILL before and after the steps of a move from a server that something else
// made, while a client writes to that, and types the same command again, until the cluster has cut over. Nothing that
// was acknowledged is lost.
func TestMoveInKilled(t *testing.T) {
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	choose := rand.New(rand.NewPCG(torture.Seed(t), 1))
	var there *mover // in the short form the cluster that was created is cut over
	create := torture.Verb[*mover]{Name: "Valkey: create from a primary",
		Stage: func(t *testing.T) *mover { there = newMover(t); return there },
		Arm:   (*mover).creation, Check: (*mover).follows,
		Reset: func(m *mover) { m.Must("delete", "db", "--skip-backup", "--purge", "--yes") }}
	cut := torture.Verb[*mover]{Name: "Valkey: cutover",
		Stage: func(t *testing.T) *mover {
			if torture.Full() {
				there = newMover(t)
				there.Must(there.creation()...)
			}
			return there
		},
		Arm:   func(*mover) []string { return []string{"cutover", "db"} },
		Check: func(m *mover) { movedIn(m.Scene) }}
	if !torture.Full() {
		create.Kill(t, results, choose)
		cut.Kill(t, results, choose)
		return
	}
	t.Run("create", func(t *testing.T) { create.Kill(t, results, choose) })
	t.Run("cutover", func(t *testing.T) { cut.Kill(t, results, choose) })
}

const wantedMover = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db}
spec:
  engine: valkey
  version: %q
  image: %s
  members: %s
  storage: {size: 1Gi}
  source: {address: "outside:6379", secret: outside}
  deletionPolicy: Purge
`

// TestMoveInOperatorKilled has operators move in of which each dies at another step, and another one goes on.
func TestMoveInOperatorKilled(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=valkey runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	m := newMover(t)
	kubectl(m.Scene, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(m.Site.Root, "deploy", "crd"))
	kubectl(m.Scene, "wait", "--for=condition=Established", "crd/databaseclusters.dbop.dev", "--timeout=60s")
	steps := torture.Plan(m, m.creation()...)
	kubectl(m.Scene, "label", "secret", "outside", "dbop.dev/use=databasecluster")
	apply(m.Scene, fmt.Sprintf(wantedMover, m.to.Version, m.to.Image, m.members))
	results.Add(m.Operate(operatorsDie, "create from a primary", torture.FailPoints(steps), 0, func() error {
		return m.condition("Ready")
	}))
	m.follows()

	var asking *harness.Process
	steps = torture.Plan(m, "cutover", "db")
	results.Add(m.Operate(operatorsDie, "cutover", torture.FailPoints(steps), 0, func() error {
		if asking == nil {
			if err := m.condition("Ready"); err != nil {
				return err
			}
			asking = m.Start("cutover", "db")
		}
		if !asking.Ended() {
			return errors.New("the command waits")
		}
		return nil
	}))
	if r, err := asking.Wait(); err != nil || r.Code != 0 {
		t.Errorf("the command that asked for it: %v\n%s", err, r)
	}
	movedIn(m.Scene)
	if n := strings.Count(m.Must("history", "db").Stdout, "cutover"); n != 1 {
		t.Errorf("one wish became %d operations", n)
	}
}

// condition asks whether the cluster has a condition.
func (m *mover) condition(name string) error {
	m.Helper()
	if got := kubectl(m.Scene, "get", "dbc", "db", "-o",
		`jsonpath={.status.conditions[?(@.type=="`+name+`")].status}`); got != "True" {
		return fmt.Errorf("the condition %s is %q", name, got)
	}
	return nil
}
