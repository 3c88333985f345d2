//go:build e2e

package etcd

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// knownWithin is when diagnose must know what is wrong with a member.
const knownWithin = 90 * time.Second

// memberDays befall members, and leave nodes and other clusters alone.
func memberDays() []badDay {
	return []badDay{
		{name: "a member frozen while it scales", version: "3.6", members: 5, befall: frozenWhileScaling},
		{name: "a member frozen while it upgrades", version: "3.5", befall: frozenWhileUpgrading},
		{name: "a joiner that hangs", version: "3.6", members: 4, befall: hangingJoiner},
		{name: "a full disk", version: "3.6", befall: fullDisk},
		{name: "a lost volume", version: "3.6", befall: lostVolume},
		{name: "a flipped bit", version: "3.6", befall: flippedBit},
		{name: "all pods deleted", version: "3.6", befall: allPodsDeleted},
		{name: "all pods deleted while it scales", version: "3.6", members: 5, befall: allPodsDeletedWhileScaling},
		{name: "an upgrade to an image that crashes", version: "3.5", befall: crashingImage},
	}
}

// frozenWhileScaling stops a member's process in the middle of a change of
// size: the tool waits and says for whom, and goes on when it goes on.
func frozenWhileScaling(x *trouble) {
	p := x.beginsWith("Register my-db-4", "scale", "my-db", "--members", "5")
	target := x.member(x.choose.IntN(2) == 0)
	thaw, err := x.machine.Freeze(x.ctx, x.ns, target)
	x.ok(err)
	defer thaw()
	x.hears(p, "member "+target+" was not reached")
	x.othersReady(target)
	x.finds(knownWithin, target, "does not answer")
	thaw()
	x.ends(p, 0)
}

// frozenWhileUpgrading stops a member's process in the middle of an upgrade,
// and lets the tool's time run out: it takes no second member down meanwhile,
// and comes to its end when it is asked again.
func frozenWhileUpgrading(x *trouble) {
	args := []string{"upgrade", "my-db", "--version", "3.6", "--skip-backup"}
	p := x.beginsWith("Restart ", append(args, "--timeout", "25s")...)
	first := strings.Fields(p.Stderr()[strings.Index(p.Stderr(), "Restart "):])[1]
	var target string
	for _, m := range x.status("my-db").Members {
		if m.Name != first && (target == "" || x.choose.IntN(2) == 0) {
			target = m.Name
		}
	}
	thaw, err := x.machine.Freeze(x.ctx, x.ns, target)
	x.ok(err)
	defer thaw()
	before := x.pods()
	x.judge(x.ends(p, 124), 124, "is over, at:")
	for name, uid := range x.pods() {
		// The frozen one serves nobody, so it may be the next to restart.
		if name != first+"-0" && name != target+"-0" && before[name] != uid {
			x.Errorf("pod %s was restarted while %s was frozen", name, target)
		}
	}
	p = x.begin(args...)
	thaw()
	x.ends(p, 0)
}

// hangingJoiner stops the process of a member that has no vote yet, while
// nobody observes: it is restarted once, and joins.
func hangingJoiner(x *trouble) {
	if r := x.with(x.mortal("after:start-members"), "add-member", "my-db"); !r.Killed() {
		x.Fatalf("expected it to die once the joiner was started:\n%s", r)
	}
	x.within(podWithin, "the joiner to run", func() error {
		thaw, err := x.machine.Freeze(x.ctx, x.ns, "my-db-4")
		if err == nil {
			x.Cleanup(thaw)
		}
		return err
	})
	p := x.begin("add-member", "my-db")
	x.hears(p, "Restart my-db-4, which hangs")
	x.ends(p, 0)
}

// fullDisk takes all the space of one member's volume.
func fullDisk(x *trouble) {
	target := x.member(x.choose.IntN(2) == 0)
	volume, err := x.machine.Volume(x.ctx, x.ns, target)
	x.ok(err)
	x.ok(harness.Fill(volume))
	defer func() { x.ok(harness.Empty(volume)) }()
	// What is preallocated holds a few writes more.
	x.ok(harness.FillKeys(x.ctx, x.load.db, "big/", 16000, 1000))
	x.finds(knownWithin, target, "disk is full", "resize")
	x.refusing(target)
	x.judge(x.try("member", "replace", "my-db", target, "--yes"), 4, "full")
	x.ok(harness.Empty(volume))
	x.recovers()
}

// lostVolume takes a member's pod and volume away.
func lostVolume(x *trouble) {
	target := x.member(x.choose.IntN(2) == 0)
	x.lose(target)
	x.finds(knownWithin, target, "its volume is gone", " member replace my-db "+target)
	x.refusing(target)
	x.judge(x.try("restart", "my-db"), 4, target, "member replace")
	x.replace(target)
}

// flippedBit damages one member's data file while its pod is away.
func flippedBit(x *trouble) {
	target := x.member(x.choose.IntN(2) == 0)
	file, err := x.machine.DataFile(x.ctx, x.ns, target)
	x.ok(err)
	x.stop(target)
	copies, err := harness.FlipBit(file, "value 7 ")
	x.ok(err)
	x.start(target)
	x.Logf("%d copies of one value damaged in the data of %s", copies, target)
	x.finds(knownWithin, target, "it is damaged", " member replace my-db "+target)
	x.refusing(target)
	x.replace(target)
}

// allPodsDeleted ends all pods at once: nothing but Kubernetes brings them back.
func allPodsDeleted(x *trouble) {
	x.deletePods()
	x.recovers()
}

// allPodsDeletedWhileScaling does the same in the middle of an operation.
func allPodsDeletedWhileScaling(x *trouble) {
	p := x.beginsWith("Register my-db-4", "scale", "my-db", "--members", "5")
	x.deletePods()
	x.ends(p, 0)
}

// crashingImage upgrades to an image that is not what its name says: the first
// member crashes, the others are left alone, and cancel puts it back.
func crashingImage(x *trouble) {
	p := x.begin("upgrade", "my-db", "--version", "3.6", "--image", "dbop.test/etcd-development/etcd:v3.5.35",
		"--skip-backup")
	before := x.pods()
	r := x.ends(p, 9)
	x.judge(r, 9, "flag provided but not defined", " cancel my-db")
	moved := 0
	for name, uid := range x.pods() {
		if before[name] != uid {
			moved++
		}
	}
	if moved != 1 {
		x.Errorf("%d pods were restarted on an image that crashes", moved)
	}
	x.finds(knownWithin, "crashes again and again", "another version than its name", " cancel my-db")
	x.ends(x.begin("cancel", "my-db"), 0)
	for _, m := range x.status("my-db").Members {
		if !strings.HasPrefix(m.Version, "3.5.") {
			x.Errorf("%s runs %s", m.Name, m.Version)
		}
	}
}

// lose deletes a member's volume and pod.
func (x *trouble) lose(member string) {
	x.Helper()
	claims, pods := x.site.Client.CoreV1().PersistentVolumeClaims(x.ns), x.site.Client.CoreV1().Pods(x.ns)
	x.ok(claims.Delete(x.ctx, v1alpha1.VolumeName(member), metav1.DeleteOptions{}))
	x.ok(pods.Delete(x.ctx, member+"-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	x.within(podWithin, "the volume of "+member+" to go", func() error {
		_, err := claims.Get(x.ctx, v1alpha1.VolumeName(member), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}

// replace replaces a member, and asks for the same data everywhere.
func (x *trouble) replace(member string) {
	x.Helper()
	began := time.Now()
	x.ends(x.begin("member", "replace", "my-db", member, "--yes"), 0)
	x.Logf("replaced after %s", time.Since(began).Round(100*time.Millisecond))
}

// pods are the members' pods, and which life of them it is.
func (x *trouble) pods() map[string]string {
	x.Helper()
	list, err := x.site.Client.CoreV1().Pods(x.ns).List(x.ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=database"})
	x.ok(err)
	out := map[string]string{}
	for _, p := range list.Items {
		out[p.Name] = string(p.UID)
	}
	return out
}

// deletePods deletes all members' pods at once.
func (x *trouble) deletePods() {
	x.Helper()
	x.ok(x.site.Client.CoreV1().Pods(x.ns).DeleteCollection(x.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=database"}))
}

// othersReady asks that no other member is down.
func (x *trouble) othersReady(but string) {
	x.Helper()
	for _, r := range x.status("my-db").Members {
		if r.Name != but && r.Role != "leader" && r.Role != "follower" && r.Role != "learner" {
			x.Errorf("%s is down, too: %+v", r.Name, r)
		}
	}
}
