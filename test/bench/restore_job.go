package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	barLoaded = 1.5
	claim     = "backups"
)

// measureRestoreJob holds restores that read an object store, and a claim, against etcdutl on the node plus the start
// of a pod, as measureRestore does.
func measureRestoreJob(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		image, err := b.large(ctx, ns)
		if err != nil {
			return err
		}
		file := filepath.Join(b.home, "restore-job.db")
		defer func() { _ = os.Remove(file) }()
		from, err := b.kept(ctx, ns, file)
		if err != nil {
			return err
		}
		if err := b.deleteOurs(ctx, ns, "big"); err != nil {
			return err
		}
		places := []string{"S3", "a claim", "a claim with a name"}
		ours := map[string]*samples{}
		for _, where := range places {
			ours[where] = &samples{}
		}
		var util, start samples
		restore := func(where, name string) error {
			r, err := b.dbop(ctx, append([]string{"restore", name, "--members", "1", "--storage", "4Gi", "-n", ns},
				from[where]...)...)
			ours[where].took(r.Duration)
			return err
		}
		for i := range b.repeats {
			for n, where := range places {
				name := fmt.Sprintf("copy-%d-%d", i, n)
				if err := restore(where, name); err != nil {
					return err
				}
				fmt.Printf("restore from %s %.2f s\n", where, (*ours[where])[i])
				if err := b.deleteOurs(ctx, ns, name); err != nil {
					return err
				}
			}
			took, err := b.etcdutl(ctx, file)
			if err != nil {
				return err
			}
			util.took(took)
			p := plainEtcd{name: fmt.Sprintf("plain-%d", i), namespace: ns, image: image, members: 1}
			if took, err = b.createPlain(ctx, p); err != nil {
				return err
			}
			start.took(took)
			fmt.Printf("etcdutl %.2f s, start %.2f s\n", util[i], start[i])
		}
		for _, where := range places {
			b.rows.judged(fmt.Sprintf("restore of %d MiB from %s into one member ÷ etcdutl snapshot restore on the node plus "+
				"pod start", b.sizeMiB, where), ours[where].median()/(util.median()+start.median()), "ratio", barLoaded,
				"ours: "+ours[where].spread("s")+"; etcdutl: "+util.spread("s")+"; pod start: "+start.spread("s"))
			// To observe memory takes processor time, so that round counts for nothing else.
			peak, name := anonymous{}, "observed-"+strings.ReplaceAll(strings.ToLower(where), " ", "-")
			if err := peak.during(ctx, b, ns, func() error { return restore(where, name) }); err != nil {
				return err
			}
			b.rows.judged(fmt.Sprintf("anonymous memory of the pod that restores %d MiB from %s", b.sizeMiB, where),
				peak["load"], "MiB", barAnonymous, "read every 10 ms in a round of its own")
			if err := b.deleteOurs(ctx, ns, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// kept backs the cluster up to the object store and to a claim, and writes its snapshot to a file on this machine. It
// returns what restore is told to find each.
func (b *bench) kept(ctx context.Context, ns, file string) (map[string][]string, error) {
	from := map[string][]string{}
	if err := b.addClaim(ctx, ns); err != nil {
		return nil, err
	}
	for where, repository := range map[string]string{"S3": "offsite", "a claim": "pvc:" + claim,
		"a claim with a name": "nearby"} {
		if _, err := b.dbop(ctx, "backup", "big", "--repository", repository, "-n", ns); err != nil {
			return nil, err
		}
		id, err := b.onlyBackup(ctx, ns, repository)
		if err != nil {
			return nil, err
		}
		from[where] = []string{"--repository", repository, "--from", id}
	}
	ctl, stop, err := b.etcdctl(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer stop()
	_, err = succeed(ctx, ctl, "snapshot", "save", file)
	return from, err
}

// addClaim makes a claim, and the repository nearby on it.
func (b *bench) addClaim(ctx context.Context, ns string) error {
	_, err := b.site.Client.CoreV1().PersistentVolumeClaims(ns).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim, Labels: map[string]string{"app": "store"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("8Gi")}}}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a claim: %w", err)
	}
	key := filepath.Join(b.home, "nearby-"+ns+".txt")
	for _, flag := range []string{"--new-key-file", "--identity-file"} {
		if _, err := b.dbop(ctx, "repository", "add", "nearby", "--url", "pvc:"+claim+"/named", flag, key,
			"-n", ns); err != nil {
			return err
		}
	}
	return nil
}

// onlyBackup is the identifier of the one backup that a repository holds.
func (b *bench) onlyBackup(ctx context.Context, ns, repository string) (string, error) {
	r, err := b.dbop(ctx, "backup", "list", "--repository", repository, "-o", "json", "-n", ns)
	if err != nil {
		return "", err
	}
	var list struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil || len(list.Items) != 1 {
		return "", errors.Join(err, fmt.Errorf("repository %s holds %d backups", repository, len(list.Items)))
	}
	return list.Items[0].ID, nil
}
