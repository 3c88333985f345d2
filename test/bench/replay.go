package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	barReplay = 1.3
	// segments is how much of the log is replayed.
	segments = 200
	// replayedSize has room for the log and the data.
	replayedSize = "12Gi"
	// replayWithin bounds one replay, and the making of a log.
	replayWithin = 5 * time.Minute
	// changes fill the log with updates of rows, one after the other, which a server replays fast. Who reads the archive
	// has the least time for it.
	changes = "DO $$ DECLARE origin pg_lsn := pg_current_wal_lsn(); part int := 0; BEGIN " +
		"WHILE pg_current_wal_lsn() - origin < %d * 16777216.0 LOOP " +
		"UPDATE much SET number = random() WHERE n %% 4 = part %% 4; part := part + 1; COMMIT; END LOOP; END $$"
	// byHand makes the same log on a server as a person sets it up, with a base backup from before it.
	byHand = `set -e; cd /data; initdb -D pg -U postgres -k --encoding UTF8 --locale C.UTF-8 >/dev/null; mkdir archive; ` +
		`for s in archive_mode=on "archive_command='cp %%p /data/archive/%%f'" wal_log_hints=on "listen_addresses=''" ` +
		`"unix_socket_directories='/tmp'"; do echo "$s" >>pg/postgresql.conf; done; pg_ctl -s -D pg -l log -w start; ` +
		`ask() { psql -q -h /tmp -U postgres -c "$@" >/dev/null; }; ask '%s' -c CHECKPOINT; ` +
		`pg_basebackup -h /tmp -U postgres -D base -Ft -X fetch --checkpoint=fast; ask '%s' -c 'SELECT pg_switch_wal()'; ` +
		`while ls pg/pg_wal/archive_status | grep -q ready; do sleep 0.1; done; pg_ctl -s -D pg stop; rm -r pg`
	// elapsed is what the server says of the time.
	elapsed = `elapsed: ([0-9.]+) s`
	// replayed recovers that backup by hand, and prints what the server says of the replay. Where archive and data are on
	// one file system that shares blocks, cp copies nothing; with copied it does, as from a volume of its own.
	copied   = " --reflink=never"
	replayed = `set -e; cd /data; rm -f log; mkdir -m 700 pg; tar x -C pg -f base/base.tar; touch pg/recovery.signal; ` +
		`echo "restore_command = 'cp%s /data/archive/%%f %%p'" >>pg/postgresql.auto.conf; ` +
		`pg_ctl -s -D pg -l log -w -t 300 -o "-c archive_mode=off" start; ` +
		`until grep "redo done at" log; do sleep 0.1; done; pg_ctl -s -D pg -m immediate stop; rm -r pg`
)

// measureReplay holds the replay of an archived log out of an object store of the same cluster against that of a log of
// the same changes out of a directory, by cp. What comes before the replay and after it does not count.
func measureReplay(ctx context.Context, b *bench) error {
	found, err := harness.Releases("postgres", 17)
	if err != nil {
		return err
	}
	if !b.site.HasObjectStore() {
		return errors.New("there is no image of an object store: run make stores cluster-up")
	}
	return b.inNamespace(ctx, func(ns string) error {
		m := &replays{bench: b, ns: ns, release: found[0], fill: fmt.Sprintf("CREATE TABLE much AS SELECT n, "+
			"md5(n::text) AS word, random() AS number FROM generate_series(1, %d) n", b.sizeMiB*mebibyte/rowBytes)}
		if err := b.site.AddObjectStore(ctx, ns, b.home); err != nil {
			return err
		}
		backup, err := m.logged(ctx)
		if err != nil {
			return err
		}
		if err := m.loggedByHand(ctx); err != nil {
			return err
		}
		var ours, shared, whole samples
		for i := range m.repeats {
			took, err := m.replayOurs(ctx, backup, fmt.Sprintf("copy-%d", i))
			if err != nil {
				return err
			}
			ours = append(ours, took)
			for option, theirs := range map[string]*samples{"": &shared, copied: &whole} {
				if took, err = m.replayByHand(ctx, option); err != nil {
					return err
				}
				*theirs = append(*theirs, took)
			}
			fmt.Printf("replay %.2f s, by hand %.2f s, with bytes copied %.2f s\n", ours[i], shared[i], whole[i])
		}
		what := fmt.Sprintf("replay of %d segments from S3 ÷ from a local directory by cp", segments)
		m.rows.judged(what, ours.median()/shared.median(), "ratio", barReplay,
			"ours: "+ours.spread("s")+"; by hand: "+shared.spread("s"))
		m.rows.plain(what+copied, ours.median()/whole.median(), "ratio",
			"ours: "+ours.spread("s")+"; by hand: "+whole.spread("s"))
		return nil
	})
}

// replays is a measurement of how a log is replayed.
type replays struct {
	*bench

	ns      string
	release harness.Release
	// fill makes the data that is backed up.
	fill string
}

// logged makes a cluster, backs it up, and has it archive a log. It returns the backup, and leaves no cluster.
func (m *replays) logged(ctx context.Context) (string, error) {
	if _, err := m.dbop(ctx, "create", "big", "--engine", "postgres", "--version", m.release.Version, "--image",
		m.release.Image, "--members", "1", "--storage", replayedSize, "--config", "archive-repository=offsite", "-n",
		m.ns); err != nil {
		return "", err
	}
	query := []string{"connect", "big", "-n", m.ns, "--", "-q", "-d", "app"}
	if _, err := m.dbop(ctx, append(query, "-c", m.fill, "-c", "CHECKPOINT")...); err != nil {
		return "", err
	}
	if _, err := m.dbop(ctx, "backup", "big", "--repository", "offsite", "-n", m.ns); err != nil {
		return "", err
	}
	backup, err := m.onlyBackup(ctx, m.ns, "offsite")
	if err != nil {
		return "", err
	}
	query = append(query, "-c", fmt.Sprintf(changes, segments), "-c", "SELECT pg_switch_wal()")
	if _, err := m.dbop(ctx, query...); err != nil {
		return "", err
	}
	if _, err := m.inPod(ctx, m.ns, "big-1-0", "", onceArchived); err != nil {
		return "", err
	}
	return backup, m.deleteOurs(ctx, m.ns, "big")
}

// loggedByHand starts a pod for the replay by hand, and makes the log there.
func (m *replays) loggedByHand(ctx context.Context) error {
	plain := plainServer{image: m.release.Image, port: 5432, ready: "true", storage: replayedSize,
		script: "exec sleep infinity"}
	if err := plain.run(ctx, m.bench, m.ns); err != nil {
		return err
	}
	// A shell keeps what is between single quotes as it is.
	_, err := m.inPod(ctx, m.ns, "plain-0", "", fmt.Sprintf(byHand, m.fill, fmt.Sprintf(changes, segments)))
	return err
}

// replayOurs restores into a new cluster of one member, and returns how long its server replayed the log, in seconds.
func (m *replays) replayOurs(ctx context.Context, backup, name string) (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type said struct {
		seconds float64
		err     error
	}
	heard := make(chan said, 1)
	go func() {
		seconds, err := m.hear(ctx)
		heard <- said{seconds, err}
	}()
	_, err := m.dbop(ctx, "restore", name, "--members", "1", "--storage", replayedSize, "--repository", "offsite",
		"--from", backup, "--to-time", "latest", "-n", m.ns)
	if err != nil {
		return 0, err
	}
	got := <-heard
	if got.err == nil {
		_, got.err = m.dbop(ctx, "delete", name, "--purge", "--skip-backup", "--yes", "-n", m.ns)
	}
	return got.seconds, got.err
}

// replayByHand returns how long the server that a person set up replayed the log, in seconds.
func (m *replays) replayByHand(ctx context.Context, option string) (float64, error) {
	said, err := m.inPod(ctx, m.ns, "plain-0", "", fmt.Sprintf(replayed, option))
	if err != nil {
		return 0, err
	}
	return printed(elapsed)(said)
}

// hear reads the log of the pod that loads the backup to its end.
func (m *replays) hear(ctx context.Context) (float64, error) {
	pods, name := m.site.Client.CoreV1().Pods(m.ns), ""
	if err := harness.Until(ctx, replayWithin, "the pod that loads the backup", func(ctx context.Context) error {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPurpose + "=load"})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodSucceeded {
				name = p.Name
				return nil
			}
		}
		return errors.New("it does not run")
	}); err != nil {
		return 0, err
	}
	log, err := pods.GetLogs(name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the log of pod %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "redo done at") {
			return printed(elapsed)(lines.Text())
		}
	}
	return 0, errors.Join(fmt.Errorf("pod %s does not say how long the replay took", name), lines.Err())
}
