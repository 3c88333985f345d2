package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	barLink = 1.5
	// clientPause is what a client waits for before it tries again, in seconds: no client takes processor time from the
	// other side.
	clientPause = "0.2"
	// stopWithin is how long a server may write to its disk before it ends.
	stopWithin = 10 * time.Minute
	// plainClaim is the volume of the server that is upgraded by hand.
	plainClaim = "plain"
	// A volume that is mounted again is open to the group of the pod, which a server refuses.
	plainServe = `chmod 700 /data/%[1]s; exec postgres -D /data/%[1]s -k /tmp -c listen_addresses=`
	plainMake  = `[ -e /data/old ] || initdb -D /data/old -U postgres -k --encoding UTF8 --locale C.UTF-8 >/dev/null; `
	// plainOptions removes what some builds of the server keep with each column, and the later version does not take. The
	// tool does the same with a copy.
	plainOptions = `UPDATE pg_attribute SET attoptions = NULL WHERE attoptions IS NOT NULL`
	// plainUpgrade converts the data with the programs of both versions. The libraries that this image lacks come along.
	plainUpgrade = `set -e; chmod 700 /data/old; mkdir /data/work /tmp/l; cd /data/work; ` +
		`for l in /data/former/libraries/*; do [ -e /usr/lib/*-linux-gnu/${l##*/} ] || ln -s $l /tmp/l/; done; ` +
		`initdb -D /data/new -U postgres -k --encoding UTF8 --locale C.UTF-8 >/dev/null; ` +
		`LD_LIBRARY_PATH=/tmp/l pg_upgrade --link -U postgres -s /tmp -b /data/former/usr/lib/postgresql/%d/bin ` +
		`-d /data/old -D /data/new || { tail -n 20 /data/new/pg_upgrade_output.d/*/log/pg_upgrade_server.log; exit 1; }`
)

// majorUpgrade is a measurement of an upgrade of PostgreSQL to another major version.
type majorUpgrade struct {
	*bench

	ns       string
	from, to harness.Release
	// fill makes the data, with the statistics that the server makes by itself in time.
	fill string
}

// measureUpgradeMajor holds the time without writes of an upgrade by links against pg_upgrade --link by hand.
func measureUpgradeMajor(ctx context.Context, b *bench) error {
	from, err := harness.Releases("postgres", 17)
	if err != nil {
		return err
	}
	to, err := harness.Releases("postgres", 18)
	if err != nil {
		return err
	}
	m := &majorUpgrade{bench: b, from: from[0], to: to[0], fill: fmt.Sprintf(
		"CREATE TABLE much AS SELECT n, md5(n::text) || md5((-n)::text) AS word, random() AS number "+
			"FROM generate_series(1, %d) n; ANALYZE much", b.sizeMiB*mebibyte/rowBytes)}
	var ours, theirs samples
	for i := range b.repeats {
		if err := b.inNamespace(ctx, func(ns string) error {
			m.ns = ns
			gap, err := m.link(ctx)
			ours.took(gap)
			return err
		}); err != nil {
			return err
		}
		if err := b.inNamespace(ctx, func(ns string) error {
			m.ns = ns
			took, err := m.byHand(ctx)
			theirs.took(took)
			return err
		}); err != nil {
			return err
		}
		fmt.Printf("no write for %.2f s, by hand %.2f s\n", ours[i], theirs[i])
	}
	b.rows.judged(fmt.Sprintf("major upgrade of %d MiB by links: time without writes ÷ pg_upgrade --link by hand",
		b.sizeMiB), ours.median()/theirs.median(), "ratio", barLink,
		"ours: "+ours.spread("s")+"; by hand: "+theirs.spread("s"))
	return nil
}

// storage has room for the data, its log and indexes.
func (m *majorUpgrade) storage() string { return fmt.Sprintf("%dMi", 2*m.sizeMiB+2048) }

// link upgrades a cluster of one member while a client writes, and returns for how long no write was acknowledged.
func (m *majorUpgrade) link(ctx context.Context) (time.Duration, error) {
	if _, err := m.dbop(ctx, "create", "db", "--engine", "postgres", "--version", m.from.Version, "--image", m.from.Image,
		"--members", "1", "--storage", m.storage(), "-n", m.ns); err != nil {
		return 0, err
	}
	for _, words := range [][]string{{"-c", m.fill, "-c", "CHECKPOINT"}, {"-c", harness.PostgresTable}} {
		if err := m.long(ctx, append([]string{"connect", "db", "-n", m.ns, "--", "-d", "app"}, words...)...); err != nil {
			return 0, err
		}
	}
	client := harness.PostgresWriter(m.ns, "db", m.from.Image)
	client.Env["PAUSE"] = clientPause
	w, err := m.site.StartPodWriter(ctx, client)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(m.home, "major")
	defer func() { _ = os.RemoveAll(dir) }()
	began := time.Now()
	if err := m.long(ctx, "upgrade", "db", "--version", m.to.Version, "--image", m.to.Image, "--allow-downtime", "--link",
		"--repository", "dir:"+dir, "-n", m.ns); err != nil {
		return 0, err
	}
	if err := w.GoesOn(ctx, "writes to the new version"); err != nil {
		return 0, err
	}
	return w.LongestGap(ctx, began, time.Now())
}

// long runs the tool, for longer than other commands may take.
func (m *majorUpgrade) long(ctx context.Context, args ...string) error {
	r, err := m.cli.Run(ctx, args...)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("it failed: %s", r)
	}
	return err
}

// byHand stops the pod of a server, has a pod with the programs of both versions convert the data, and starts a pod of
// the new version. The programs are on the volume before that, as they are in an image that somebody prepared.
func (m *majorUpgrade) byHand(ctx context.Context) (time.Duration, error) {
	core := m.site.Client.CoreV1()
	if _, err := core.PersistentVolumeClaims(m.ns).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: plainClaim}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse(m.storage())}}}}, metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create the plain volume: %w", err)
	}
	serve := func(data string) string { return fmt.Sprintf(plainServe, data) }
	if _, err := m.startPod(ctx, m.ns, m.pod("plain-old", m.from.Image, plainMake+serve("old"))); err != nil {
		return 0, err
	}
	for _, words := range []string{"until pg_isready -q -h /tmp; do sleep 0.05; done",
		"psql -q -h /tmp -U postgres -c '" + m.fill + "' -c '" + plainOptions + "' -c CHECKPOINT"} {
		if _, err := m.inPod(ctx, m.ns, "plain-old", "", words); err != nil {
			return 0, err
		}
	}
	programs := m.pod("plain-programs", m.from.Image, "/data/kubectl-dbop helper programs --engine postgres --version "+
		m.from.Version+" --to /data/former")
	install := m.pod("", m.site.Env["DBOP_HELPER_IMAGE"], "").Spec.Containers[0]
	install.Name, install.Command = "install", []string{"/usr/local/bin/kubectl-dbop", "helper", "install", "--to",
		"/data/kubectl-dbop"}
	programs.Spec.InitContainers = []corev1.Container{install}
	if err := m.ends(ctx, programs); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := core.Pods(m.ns).Delete(ctx, "plain-old", metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("stop the plain server: %w", err)
	}
	if err := harness.Until(ctx, stopWithin, "the plain server to stop", func(ctx context.Context) error {
		if _, err := core.Pods(m.ns).Get(ctx, "plain-old", metav1.GetOptions{}); err == nil {
			return errors.New("its pod is there")
		}
		return nil
	}); err != nil {
		return 0, err
	}
	if err := m.ends(ctx, m.pod("plain-upgrade", m.to.Image, fmt.Sprintf(plainUpgrade, 17))); err != nil {
		return 0, err
	}
	if _, err := m.startPod(ctx, m.ns, m.pod("plain-new", m.to.Image, serve("new"))); err != nil {
		return 0, err
	}
	_, err := m.inPod(ctx, m.ns, "plain-new", "", "until pg_isready -q -h /tmp; do sleep 0.05; done")
	return time.Since(began), err
}

// ends runs a pod to its end.
func (m *majorUpgrade) ends(ctx context.Context, p *corev1.Pod) error {
	pods := m.site.Client.CoreV1().Pods(m.ns)
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create pod %s: %w", p.Name, err)
	}
	said := ""
	err := harness.Until(ctx, commandWithin, "the end of pod "+p.Name, func(ctx context.Context) error {
		now, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range now.Status.ContainerStatuses {
			if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
				said = c.State.Terminated.Message
				return nil
			}
		}
		if now.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s", now.Status.Phase)
		}
		return nil
	})
	if err == nil && said != "" {
		err = fmt.Errorf("pod %s ended: %s", p.Name, said)
	}
	return err
}

// pod is one with the plain volume that runs a script.
func (m *majorUpgrade) pod(name, image, script string) *corev1.Pod {
	template := plainServer{image: image, port: 5432, script: script}.set("plain", 1).Spec.Template
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template.Spec}
	c := &p.Spec.Containers[0]
	c.ReadinessProbe, c.TerminationMessagePolicy = nil, corev1.TerminationMessageFallbackToLogsOnError
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p.Spec.TerminationGracePeriodSeconds = new(int64(stopWithin / time.Second))
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: plainClaim}}}}
	return p
}
