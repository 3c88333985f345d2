//go:build e2e

package valkey

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// server is the container of the database in the pod of a member.
const server = "valkey"

// asked runs a command by the socket of a member's server, as who may enter the container does, and returns what it
// answers or why nobody does.
func (f *fault) asked(member string, args ...string) string {
	f.Helper()
	return f.Inside(member, server, `cd /run/dbop/sockets && REDISCLI_AUTH=$(cat password) timeout 5 valkey-cli `+
		`-s server.sock --user dbop-person --no-auth-warning `+strings.Join(args, " ")+` 2>&1; true`)
}

// replicas are the members besides the primary.
func (f *fault) replicas() (names []string) {
	f.Helper()
	for _, p := range f.Members() {
		if name := strings.TrimSuffix(p.Name, "-0"); name != f.first {
			names = append(names, name)
		}
	}
	return names
}

// replicasLost: the primary that is left takes no write within a lease, and goes on once the others are back.
func replicasLost(f *fault) {
	lost := f.replicas()
	for _, m := range lost {
		f.Size(m, 0)
	}
	gone := time.Now()
	f.Down()
	time.Sleep(time.Until(gone.Add(stoppedWithin)))
	f.refuses(f.first)
	for _, m := range lost {
		f.Size(m, 1)
	}
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once the replicas are back"))
}

func allLost(f *fault) {
	for _, m := range append(f.replicas(), f.first) {
		f.Kill(m, true)
	}
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once all are back"))
}

// everyOrder stops all members and brings them back in each order, some seconds apart. None leads
// that lacks something.
func everyOrder(f *fault) {
	all := append(f.replicas(), f.first)
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for _, m := range all {
			f.Size(m, 0)
		}
		for _, i := range order {
			f.Size(all[i], 1)
			time.Sleep(2 * time.Second)
		}
		f.OK(f.writer.GoesOn(f.Ctx, fmt.Sprintf("writes to go on after the order %v", order)))
		f.Healthy(3)
	}
}

// emptied takes all that is on the volume of a member while it is down. The member takes no part under its name, and is
// replaced.
func (f *fault) emptied(member string) {
	f.Helper()
	volume, err := f.machine.Volume(f.Ctx, f.NS, member)
	f.OK(err)
	time.Sleep(2 * time.Second) // the others have heard of what it holds
	f.Size(member, 0)
	entries, err := os.ReadDir(volume)
	f.OK(err)
	for _, e := range entries {
		f.OK(os.RemoveAll(filepath.Join(volume, e.Name())))
	}
	f.Size(member, 1)
	f.taken()
	f.says("member " + member + " does not serve")
	f.OK(harness.Until(f.Ctx, time.Minute, "the others to say why", func(context.Context) error {
		if r := f.Try("logs", "db"); !strings.Contains(r.Stdout, "its volume was emptied or rolled back") {
			return fmt.Errorf("the logs say:\n%s", r.Stdout)
		}
		return nil
	}))
	f.Must("member", "replace", "db", member, "--force", "--yes")
}

// damaged: what the server of the primary loads when it starts is damaged, and it is killed. Another member leads, and
// this one copies its data.
func damaged(f *fault) {
	volume, err := f.machine.Volume(f.Ctx, f.NS, f.first)
	f.OK(err)
	f.enough()
	hit := 0
	f.OK(filepath.WalkDir(volume, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".incr.aof") {
			return err
		}
		hit++
		raw, err := os.ReadFile(path)
		if err == nil {
			copy(raw[len(raw)/2:], "\x00\xff damaged \xff\x00")
			err = os.WriteFile(path, raw, 0)
		}
		return err
	}))
	if hit == 0 {
		f.Fatalf("no append-only file is in %s", volume)
	}
	f.began = time.Now()
	f.die("valkey-server")
	f.failedOver()
}

// diskFull: the server says MISCONF, or the member gives up and another one leads. Nothing that was acknowledged is
// lost, and the room is enough to go on. The group gives up its ballast first, which makes room again.
func diskFull(f *fault) {
	volume, err := f.machine.Volume(f.Ctx, f.NS, f.first)
	f.OK(err)
	f.Cleanup(func() { _ = harness.Empty(volume) })
	answer := ""
	f.OK(harness.Until(f.Ctx, time.Minute, "a write that is refused, or another primary", func(context.Context) error {
		f.OK(harness.Fill(volume))
		answer = f.asked(f.first, "EVAL", `"return redis.call('SET','full',string.rep('x',65536))"`, "0")
		if strings.Contains(answer, "OK") {
			return fmt.Errorf("%s takes writes", f.first)
		}
		return nil
	}))
	f.Logf("with a full disk %s answers: %s", f.first, answer)
	f.OK(harness.Empty(volume))
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once there is room"))
}

// memoryFull: at maxmemory, with noeviction, writes are refused and reads served. No member is lost.
func memoryFull(f *fault) {
	f.Must("configure", "db", "--set", "maxmemory=20mb", "--set", "maxmemory-policy=noeviction")
	f.fill(40)
	out := f.asked(f.first, "SET", "more", "1")
	if !strings.Contains(out, "OOM") {
		f.Errorf("a write beyond maxmemory is answered: %s", out)
	}
	if out := f.asked(f.first, "EXISTS", "written"); out != "1" {
		f.Errorf("a read is answered: %s", out)
	}
	if now := f.Member("primary"); now != f.first {
		f.Errorf("%s leads, although nobody failed", now)
	}
	f.drop()
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on once there is memory"))
}

// fill adds megabytes, as far as the server takes them.
func (f *fault) fill(megabytes int) {
	f.Helper()
	f.asked(f.first, "EVAL", fmt.Sprintf(
		`"for i=1,%d do redis.call('RPUSH','filler',string.rep(tostring(i),1048576/#tostring(i))) end"`, megabytes), "0")
}

// drop takes them away again.
func (f *fault) drop() {
	f.Helper()
	f.OK(harness.Until(f.Ctx, time.Minute, "the server to drop what filled it", func(context.Context) error {
		f.asked(f.first, "DEL", "filler")
		if out := f.asked(f.first, "EXISTS", "filler"); out != "0" {
			return fmt.Errorf("%s answers: %s", f.first, out)
		}
		return nil
	}))
}

// outOfMemory has the kernel end the largest process of the container: the server, when another one takes what is left.
func outOfMemory(f *fault) {
	f.fill(150)
	before := f.started()
	out := f.Inside(f.first, server, `head -c 140m /dev/zero | tail -c 140m | wc -c 2>&1; true`)
	f.OK(harness.Until(f.Ctx, time.Minute, "the server to be ended", func(context.Context) error {
		if now := f.started(); now == before {
			return fmt.Errorf("process %s of the server goes on; the other one said %s", now, out)
		}
		return nil
	}))
	f.taken()
}

// started tells one start of the server of the first primary from the next.
func (f *fault) started() string {
	f.Helper()
	return f.Inside(f.first, server, `for p in /proc/[0-9]*; do read -r c 2>/dev/null <$p/comm && `+
		`[ "$c" = valkey-server ] && echo ${p#/proc/}; done; true`)
}

// copiedAgain has a replica miss more than the primary keeps for it, so that it receives everything again while clients
// write.
func copiedAgain(f *fault) {
	replica := f.replicas()[0]
	f.Size(replica, 0)
	for range 4 { // the primary keeps less
		f.fill(40)
		f.drop()
	}
	f.fill(60)
	f.OK(f.writer.GoesOn(f.Ctx, "writes to go on without the replica"))
	began := time.Now()
	f.Size(replica, 1)
	f.Healthy(3)
	f.Logf("%s was a replica again after %s", replica, time.Since(began).Round(100*time.Millisecond))
	if gap := f.gap(began); gap > takenWithin {
		f.Errorf("no write was acknowledged for %s while %s received a copy", gap, replica)
	}
}
