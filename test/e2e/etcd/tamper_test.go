//go:build e2e

package etcd

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// tamperRate of the writer.
	tamperRate = 20
	// tamperedCases is how many cases of each driver the short form tries.
	tamperedCases = 4
)

// The drivers: commands alone, and an operator in a pod.
const (
	byCommand  = "command line"
	byOperator = "operator"
)

// tampering is a cluster of which one object is changed behind the tool's back.
type tampering struct {
	*scene

	driver string
	object tampered
	// before is the object as the tool made it.
	before object
	// known is what status and diagnose said before.
	known []string
}

// object is what is compared of one.
type object struct {
	metav1.ObjectMeta `json:"metadata"`

	// raw is all of it but the metadata.
	raw string
}

// TestTampered changes and deletes each object that the tool makes, while
// clients write. Nothing acknowledged is lost, clients are served all the time,
// the difference is named, and the command that is printed mends it.
func TestTampered(t *testing.T) {
	t.Parallel()
	seed := torture.Seed(t)
	for i, driver := range []string{byCommand, byOperator} {
		t.Run(strings.ReplaceAll(driver, " ", "-"), func(t *testing.T) {
			results := &torture.Ledger{}
			t.Cleanup(func() { results.Write(t) })
			s := newScene(t, "tamper", "my-db")
			s.hurried(driver)
			for _, c := range chosenTampering(driver, rand.New(rand.NewPCG(seed, uint64(i)))) { // #nosec G404 G115
				if s == nil {
					s = newLoneScene(t, "tamper", "my-db")
					s.hurried(driver)
				}
				name := strings.ReplaceAll(c.object.title+"/"+c.deed.title, " ", "-")
				if !t.Run(name, func(t *testing.T) {
					in := *s
					in.T = t
					x := &tampering{scene: &in, driver: driver, object: c.object}
					results.Add(x.live(c.deed))
				}) {
					s = nil // the next case is not to suffer from this one
				}
			}
		})
	}
}

// tamperCase is one object and what is done to it.
type tamperCase struct {
	object tampered
	deed   deed
}

// chosenTampering is all cases of a driver, or a seeded selection for the short form.
func chosenTampering(driver string, choose *rand.Rand) []tamperCase {
	var all []tamperCase
	for _, o := range tamperedObjects() {
		if o.driver != "" && o.driver != driver {
			continue
		}
		for _, d := range o.deeds() {
			all = append(all, tamperCase{o, d})
		}
	}
	if torture.Full() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return all
	}
	all = slices.DeleteFunc(all, func(c tamperCase) bool { return !c.object.short })
	choose.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:tamperedCases]
}

// hurried makes the cluster with everything that a cluster can have.
func (s *scene) hurried(driver string) {
	s.Helper()
	if torture.Full() {
		var cancel context.CancelFunc
		s.ctx, cancel = context.WithTimeout(context.WithoutCancel(s.ctx), 2*time.Hour)
		s.Cleanup(cancel)
	}
	s.claim("backups")
	if driver == byCommand {
		s.create("my-db", "3.6", "3", "--auth")
		s.must("backup", "schedule", "my-db", "0 3 * * *", "--repository", "pvc:backups")
		return
	}
	s.installOperator()
	c := s.custom()
	c.wanted(s.ns, "my-db", 3, func(spec *v1alpha1.DatabaseClusterSpec) {
		spec.Auth.Enabled = true
		spec.Backup.Repository, spec.Backup.Schedule = "pvc:backups", "0 3 * * *"
	})
	c.ready("my-db", 3)
}

// live is one case.
func (x *tampering) live(d deed) (r torture.Row) {
	x.Helper()
	r = torture.Row{Verb: "tampering: " + x.driver, Where: x.object.title + ": " + d.title, Result: "FAILED", Gap: -1}
	if x.object.name == operationRecord {
		x.object.name = x.newestRecord()
	}
	x.before = x.look()
	x.known = x.findings()
	x.noKeys("load/", "register/")
	l := x.loaded("my-db", 1, tamperRate)
	time.Sleep(restFor)
	began := time.Now()
	noise := l.writer.LongestGap(began.Add(-restFor), began)
	x.Cleanup(x.giveUp) // else the namespace could not be deleted after a failure
	d.do(x)
	changed := x.look()
	x.Logf("%s %s: %s", x.object.kind, x.object.name, d.title)
	said := "nothing to tell"
	if !d.harmless && !x.object.silent {
		said = x.named(began, changed, d)
	}
	x.giveUp()
	acked := l.writer.AckedBefore()
	if x.object.relogin {
		l.end()
	}
	var typed []string
	r.Runs, typed = x.mend(changed, d)
	r.Gap = l.writer.LongestGap(began, time.Now())
	if x.object.relogin {
		r.Gap = -1
	} else {
		l.end()
	}
	missing, err := harness.MissingAcks(x.ctx, x.dial("my-db"), "load/", acked)
	x.ok(err)
	if len(missing) > 0 {
		x.Errorf("%d of %d acknowledged writes are lost, such as %s", len(missing), len(acked), missing[0])
	}
	if r.Gap > pauseBar && noise > busy {
		x.Logf("clients waited %s, but up to %s before", r.Gap, noise)
	} else if r.Gap > pauseBar {
		x.Errorf("clients waited %s", r.Gap)
	}
	// It can be operated as before.
	x.must("switchover", "my-db")
	if !x.Failed() {
		r.Result = strings.Join(append([]string{"ok", said}, typed...), ", ")
	}
	return r
}

// noKeys removes what the clients of the case before wrote.
func (x *tampering) noKeys(prefixes ...string) {
	x.Helper()
	db := x.dial("my-db")
	for _, p := range prefixes {
		_, err := db.KV.Delete(x.ctx, p, clientv3.WithPrefix())
		x.ok(err)
	}
}

// newestRecord is the record of the last operation.
func (x *tampering) newestRecord() string {
	x.Helper()
	r := x.kubectl("get", "configmaps", "-l", "dbop.dev/kind=operation", "--sort-by=.metadata.creationTimestamp", "-o",
		"name")
	names := strings.Fields(r.Stdout)
	if len(names) == 0 {
		x.Fatalf("no operation is recorded:\n%s", r)
	}
	return strings.TrimPrefix(names[len(names)-1], "configmap/")
}

// observe reads the object; there is none if it has no UID.
func (x *tampering) look() object {
	x.Helper()
	var out object
	r := x.kubectl("get", x.object.kind, x.object.name, "-o", "json", "--ignore-not-found")
	if r.Stdout == "" {
		return out
	}
	var all map[string]json.RawMessage
	x.ok(json.Unmarshal([]byte(r.Stdout), &all))
	x.ok(json.Unmarshal(all["metadata"], &out.ObjectMeta))
	delete(all, "metadata")
	delete(all, "status")
	raw, err := json.Marshal(all)
	x.ok(err)
	out.raw = string(raw)
	return out
}

// shell runs what a person would type, with kubectl and the plugin on the PATH.
func (x *tampering) shell(line string) harness.Result {
	x.Helper()
	kubectl := x.site.Kubectl(x.home)
	kubectl.Env["PATH"] = filepath.Dir(kubectl.Path) + ":" + kubectl.Env["PATH"]
	kubectl.Path = "/bin/sh"
	r, err := kubectl.Run(x.ctx, "-c", line)
	x.ok(err)
	x.Logf("%s", fmt.Sprint(r))
	return r
}
