package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	barRDB     = 1.1
	barCluster = 1.2
	// rcloneImage is what hack/bench-images.sh makes of rclone.
	rcloneImage = "dbop.test/dbop-dev/rclone:bench"
	stockPod    = "stock"
	copyPod     = "copy"
	// fillScript writes values that can't be compressed, in lines of commands that a server reads in bulk.
	fillScript = `openssl rand -base64 %d | tr -d '\n' | fold -w 4096 | sed = | ` +
		`sed 'N;s/\(.*\)\n/SET key:\1 /' | %s --pipe`
	// stockScript is a server by hand: TLS, a user with the same password, and no wait for further replicas.
	stockScript = `exec valkey-server --dir /tmp --save "" --port 0 --tls-port 6379 --tls-cert-file /tls/tls.crt ` +
		`--tls-key-file /tls/tls.key --tls-ca-cert-file /tls/ca.crt --tls-auth-clients no --unixsocket /tmp/socket ` +
		`--protected-mode no --repl-diskless-sync-delay 0 --user "$NAME" on ">$REDISCLI_AUTH" "~*" "&*" +@all`
)

// dumps is a measurement of backups of Valkey.
type dumps struct {
	*bench
	ns, file string
	release  harness.Release
	password string
}

// measureDump holds a backup of Valkey in a directory against valkey-cli --rdb, and one in an object store against the
// same by stock programs in a pod. The agents let nobody ask for a copy as a replica does, so the other side has a
// server of its own, with as much data.
func measureDump(ctx context.Context, b *bench) error {
	found, err := harness.Releases("valkey", 9)
	if err != nil {
		return err
	}
	return b.inNamespace(ctx, func(ns string) error {
		d := &dumps{bench: b, ns: ns, file: filepath.Join(b.home, "stock.rdb"), release: found[0]}
		if err := d.begin(ctx); err != nil {
			return err
		}
		if err := d.forwarded(ctx); err != nil {
			return err
		}
		if !b.site.HasObjectStore() {
			return errors.New("there is no image of an object store: run make stores cluster-up")
		}
		return d.inCluster(ctx)
	})
}

// spec is a pod with the client's secrets.
func (d *dumps) spec(script string) harness.PodWriterSpec {
	// #nosec G101 -- a variable's name
	return harness.PodWriterSpec{Namespace: d.ns, Cluster: "big", Image: d.release.Image, Script: script, User: "NAME",
		Password: "REDISCLI_AUTH"}
}

// begin makes both servers, and fills them.
func (d *dumps) begin(ctx context.Context) error {
	if _, err := d.dbop(ctx, "create", "big", "--engine", "valkey", "--version", d.release.Version, "--image",
		d.release.Image, "--members", "1", "--storage", "4Gi", "-n", d.ns); err != nil {
		return err
	}
	secret, err := d.site.Client.CoreV1().Secrets(d.ns).Get(ctx, "big-user-client", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the password of the client: %w", err)
	}
	d.password = string(secret.Data["password"])
	stock := d.spec(stockScript).Pod(stockPod)
	stock.Spec.Volumes[0].Secret.SecretName = "big-1-tls" // a server's certificate
	if _, err := d.startPod(ctx, d.ns, stock); err != nil {
		return err
	}
	if _, err := d.startPod(ctx, d.ns, d.spec(forever).Pod(clientPod)); err != nil {
		return err
	}
	for pod, cli := range map[string]string{stockPod: "env -u REDISCLI_AUTH valkey-cli -s /tmp/socket",
		clientPod: `valkey-cli --tls --cacert /tls/ca.crt -h big-client --user "$NAME"`} {
		if _, err := d.inPod(ctx, d.ns, pod, "", fmt.Sprintf(fillScript, d.sizeMiB*mebibyte*3/4, cli)); err != nil {
			return fmt.Errorf("fill a server: %w", err)
		}
	}
	return nil
}

// forwarded compares backups to this machine.
func (d *dumps) forwarded(ctx context.Context) error {
	address, stop, err := d.site.Forward(ctx, d.ns, stockPod, "6379")
	if err != nil {
		return err
	}
	defer stop()
	dump, err := d.stockDump(ctx, address)
	if err != nil {
		return err
	}
	var ours, theirs samples
	for i := range d.repeats {
		dir := filepath.Join(d.home, fmt.Sprintf("rdb-%d", i))
		r, err := d.dbop(ctx, "backup", "big", "--to", dir, "-n", d.ns)
		if err != nil {
			return err
		}
		ours.took(r.Duration)
		took, err := dump()
		if err != nil {
			return err
		}
		theirs.took(took)
		if err := errors.Join(os.RemoveAll(dir), os.Remove(d.file)); err != nil {
			return fmt.Errorf("remove a backup: %w", err)
		}
		fmt.Printf("backup %.2f s, valkey-cli %.2f s\n", ours[i], theirs[i])
	}
	d.rows.judged(fmt.Sprintf("backup of %d MiB to a directory ÷ valkey-cli --rdb through a port-forward", d.sizeMiB),
		ours.median()/theirs.median(), "ratio", barRDB, "ours: "+ours.spread("s")+"; valkey-cli: "+theirs.spread("s"))
	return nil
}

// stockDump returns what runs valkey-cli of the release on this machine, with its own libraries.
func (d *dumps) stockDump(ctx context.Context, address string) (func() (time.Duration, error), error) {
	files, err := d.site.ClientFiles(ctx, d.ns, "big")
	if err != nil {
		return nil, err
	}
	ca := filepath.Join(d.home, "ca.crt")
	if err := os.WriteFile(ca, files["ca.crt"], 0o600); err != nil {
		return nil, fmt.Errorf("write the authority: %w", err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the end of a tunnel: %w", err)
	}
	libraries := filepath.Join(d.release.Root, "usr", "lib", "x86_64-linux-gnu")
	// #nosec G101 -- a variable's name
	c := harness.Command{Path: filepath.Join(libraries, "ld-linux-x86-64.so.2"),
		Env: map[string]string{"REDISCLI_AUTH": d.password}}
	return func() (time.Duration, error) {
		r, err := succeed(ctx, c, "--library-path", libraries, filepath.Join(d.release.Root, "usr", "bin", "valkey-cli"),
			"--tls", "--cacert", ca, "-h", host, "-p", port, "--user", "client", "--rdb", d.file)
		return r.Duration, err
	}, nil
}

// inCluster compares backups into an object store.
func (d *dumps) inCluster(ctx context.Context) error {
	if err := d.site.AddObjectStore(ctx, d.ns, d.home); err != nil {
		return err
	}
	var ours, theirs samples
	for i := range d.repeats {
		r, err := d.dbop(ctx, "backup", "big", "--repository", "offsite", "-n", d.ns)
		if err != nil {
			return err
		}
		ours.took(r.Duration)
		took, err := d.copied(ctx, i)
		if err != nil {
			return err
		}
		theirs.took(took)
		fmt.Printf("backup %.2f s, valkey-cli and rclone in a pod %.2f s\n", ours[i], theirs[i])
	}
	d.rows.judged(fmt.Sprintf("backup of %d MiB by a Job into S3 ÷ valkey-cli --rdb and rclone in a pod", d.sizeMiB),
		ours.median()/theirs.median(), "ratio", barCluster,
		"ours, encrypted: "+ours.spread("s")+"; in a pod, not encrypted: "+theirs.spread("s"))
	return nil
}

// copied runs a pod that dumps the database, and then copies the file to the store. It takes from the pod's creation to
// its end.
func (d *dumps) copied(ctx context.Context, i int) (time.Duration, error) {
	p := d.spec(`valkey-cli --tls --cacert /tls/ca.crt -h "$STOCK" --user "$NAME" --rdb /scratch/dump.rdb`).Pod(
		fmt.Sprintf("%s-%d", copyPod, i))
	core := d.site.Client.CoreV1()
	stock, err := core.Pods(d.ns).Get(ctx, stockPod, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("find the server: %w", err)
	}
	store, err := core.Services(d.ns).Get(ctx, "store", metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("find the object store: %w", err)
	}
	scratch := corev1.VolumeMount{Name: "scratch", MountPath: "/scratch"}
	dump := p.Spec.Containers[0]
	dump.Env = append(dump.Env, corev1.EnvVar{Name: "STOCK", Value: stock.Status.PodIP})
	dump.VolumeMounts = append(dump.VolumeMounts, scratch)
	from := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: "RCLONE_CONFIG_X_" + name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "store"}, Key: key}}}
	}
	fixed := func(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	address := fmt.Sprintf("https://%s:%d", stock.Status.HostIP, store.Spec.Ports[0].NodePort)
	upload := corev1.Container{Name: "upload", Image: rcloneImage, SecurityContext: dump.SecurityContext,
		Args: []string{"copy", "--ca-cert", "/store/cert.pem", "--s3-no-check-bucket", "--ignore-times",
			"/scratch/dump.rdb", "x:backups/" + p.Name},
		Env: []corev1.EnvVar{fixed("RCLONE_CONFIG", "/dev/null"), fixed("RCLONE_CONFIG_X_TYPE", "s3"),
			fixed("RCLONE_CONFIG_X_PROVIDER", "Other"), fixed("RCLONE_CONFIG_X_REGION", "us-east-1"),
			fixed("RCLONE_CONFIG_X_ENDPOINT", address), from("ACCESS_KEY_ID", "ROOT_ACCESS_KEY"),
			from("SECRET_ACCESS_KEY", "ROOT_SECRET_KEY")},
		VolumeMounts: []corev1.VolumeMount{scratch, {Name: "store", MountPath: "/store"}}}
	p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{dump}, []corev1.Container{upload}
	p.Spec.Volumes = append(p.Spec.Volumes,
		corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "store", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "store", Items: []corev1.KeyToPath{{Key: "cert.pem", Path: "cert.pem"}}}}})
	return d.runPod(ctx, d.ns, p)
}
