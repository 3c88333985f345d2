package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// rowBytes is what one row of the table takes that is backed up.
	rowBytes = 128
	// restoredSize is the volume of who takes the backup.
	restoredSize = "4Gi"
	// agentSocket is where the server of a member listens for its agent.
	agentSocket = "/run/dbop/sockets"
	barBase     = 1.1
	barUnpack   = 1.2
)

// baseBackups is a measurement of backups of PostgreSQL.
type baseBackups struct {
	*bench
	ns      string
	release harness.Release
	archive string
}

// measureBaseBackup holds a backup of PostgreSQL in a directory, and its restore, against what a person types.
func measureBaseBackup(ctx context.Context, b *bench) error {
	found, err := harness.Releases("postgres", 15)
	if err != nil {
		return err
	}
	return b.inNamespace(ctx, func(ns string) error {
		m := &baseBackups{bench: b, ns: ns, release: found[0], archive: filepath.Join(b.home, "base.tar.zst")}
		if _, err := b.dbop(ctx, "create", "big", "--engine", "postgres", "--version", m.release.Version, "--image",
			m.release.Image, "--members", "1", "--storage", "4Gi", "-n", ns); err != nil {
			return err
		}
		if _, err := b.dbop(ctx, "connect", "big", "-n", ns, "--", "-d", "app", "-c", fmt.Sprintf(
			"CREATE TABLE much AS SELECT n, md5(n::text) || md5((-n)::text) AS word, random() AS number "+
				"FROM generate_series(1, %d) n", b.sizeMiB*mebibyte/rowBytes), "-c", "CHECKPOINT"); err != nil {
			return err
		}
		dir, err := m.backups(ctx)
		if err != nil {
			return err
		}
		return m.restores(ctx, dir)
	})
}

// backups returns the directory of the last backup.
func (m *baseBackups) backups(ctx context.Context) (dir string, err error) {
	var ours, theirs samples
	for i := range m.repeats {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("remove a backup: %w", err)
		}
		dir = filepath.Join(m.home, fmt.Sprintf("base-%d", i))
		r, err := m.dbop(ctx, "backup", "big", "--to", dir, "-n", m.ns)
		if err != nil {
			return "", err
		}
		ours.took(r.Duration)
		took, err := m.pipe(ctx, `"$KUBECTL" -n "$NAMESPACE" exec big-1-0 -- pg_basebackup -h `+agentSocket+
			` -U dbop -D - -Ft -X fetch --checkpoint=fast | zstd -q -f -3 -T2 -o "$ARCHIVE" && sync "$ARCHIVE"`)
		if err != nil {
			return "", err
		}
		theirs.took(took)
		fmt.Printf("backup %.2f s, by hand %.2f s\n", ours[i], theirs[i])
	}
	m.rows.judged(fmt.Sprintf("backup of %d MiB to a directory ÷ pg_basebackup -Ft by kubectl exec | zstd -3 -T2",
		m.sizeMiB), ours.median()/theirs.median(), "ratio", barBase,
		"ours: "+ours.spread("s")+"; by hand: "+theirs.spread("s"))
	return dir, nil
}

// restores holds a restore into a new cluster of one member against the archive that was made by hand, unpacked in a
// pod on a new volume, where a server starts then.
func (m *baseBackups) restores(ctx context.Context, dir string) error {
	backup, err := harness.LastBackup(dir)
	if err != nil {
		return err
	}
	if err := m.deleteOurs(ctx, m.ns, "big"); err != nil {
		return err
	}
	var ours, theirs samples
	for i := range m.repeats {
		name := fmt.Sprintf("copy-%d", i)
		r, err := m.dbop(ctx, "restore", name, "--members", "1", "--storage", restoredSize, "--repository",
			"dir:"+dir, "--from", backup.ID, "-n", m.ns)
		if err != nil {
			return err
		}
		ours.took(r.Duration)
		if err := m.deleteOurs(ctx, m.ns, name); err != nil {
			return err
		}
		took, err := m.unpack(ctx)
		if err != nil {
			return err
		}
		theirs.took(took)
		fmt.Printf("restore %.2f s, by hand %.2f s\n", ours[i], theirs[i])
	}
	m.rows.judged(fmt.Sprintf("restore of %d MiB into one member ÷ zstd -d | kubectl exec tar -x, and a server's start",
		m.sizeMiB), ours.median()/theirs.median(), "ratio", barUnpack,
		"ours: "+ours.spread("s")+"; by hand: "+theirs.spread("s"))
	return nil
}

// unpack makes a pod, unpacks the archive there, and waits until its server answers.
func (m *baseBackups) unpack(ctx context.Context) (time.Duration, error) {
	plain := plainServer{image: m.release.Image, port: 5432, ready: "pg_isready -h /tmp", storage: restoredSize,
		script: `until [ -e /data/whole ]; do sleep 0.05; done; exec postgres -D /data/pg -k /tmp -c listen_addresses=`}
	began := time.Now()
	if err := plain.run(ctx, m.bench, m.ns); err != nil {
		return 0, err
	}
	if _, err := m.pipe(ctx, `zstd -q -d -c "$ARCHIVE" | "$KUBECTL" -n "$NAMESPACE" exec -i plain-0 -- sh -c `+
		`'mkdir -m 700 /data/pg && tar x -C /data/pg && touch /data/whole'`); err != nil {
		return 0, err
	}
	if _, err := m.inPod(ctx, m.ns, "plain-0", "", "until pg_isready -q -h /tmp; do sleep 0.05; done"); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := m.site.Client.AppsV1().StatefulSets(m.ns).Delete(ctx, "plain", metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("delete the plain StatefulSet: %w", err)
	}
	return took, m.empty(ctx, m.ns)
}

// pipe runs stock programs of this machine.
func (m *baseBackups) pipe(ctx context.Context, script string) (time.Duration, error) {
	kubectl := m.site.Kubectl(m.home)
	c := harness.Command{Path: "bash", Dir: m.home, Env: kubectl.Env}
	c.Env["KUBECTL"], c.Env["NAMESPACE"], c.Env["ARCHIVE"] = kubectl.Path, m.ns, m.archive
	r, err := succeed(ctx, c, "-euo", "pipefail", "-c", script)
	return r.Duration, err
}
