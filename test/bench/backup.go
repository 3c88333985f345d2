package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// valueBytes is the size of one value; a transaction of 100 stays below etcd's limit.
	valueBytes = 12 << 10
	mebibyte   = 1 << 20
	// streamEvery is how often the memory of a long command is observed.
	streamEvery = 20 * time.Millisecond
)

// measureBackup holds a backup to a file against etcdctl through a
// port-forward, on one member.
func measureBackup(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "big", "--engine", "etcd", "--members", "1", "--storage", "4Gi", "-n",
			ns); err != nil {
			return err
		}
		if err := b.fill(ctx, ns); err != nil {
			return err
		}
		ctl, stop, err := b.etcdctl(ctx, ns)
		if err != nil {
			return err
		}
		defer stop()
		var ours, theirs, peaks samples
		for i := range b.repeats {
			dir := filepath.Join(b.home, fmt.Sprintf("backup-%d", i))
			r, err := b.dbop(ctx, "backup", "big", "--to", dir, "-n", ns)
			if err != nil {
				return err
			}
			ours.took(r.Duration)
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("remove a backup: %w", err)
			}
			file := filepath.Join(b.home, "snapshot.db")
			if r, err = succeed(ctx, ctl, "snapshot", "save", file); err != nil {
				return err
			}
			theirs.took(r.Duration)
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("remove a snapshot: %w", err)
			}
			fmt.Printf("backup %.2f s, etcdctl %.2f s\n", ours[i], theirs[i])
		}
		for range b.repeats {
			dir := filepath.Join(b.home, "backup-peak")
			mib, err := peakMiB(ctx, b.cli, streamEvery, "backup", "big", "--to", dir, "-n", ns)
			if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
				return err
			}
			peaks = append(peaks, mib)
		}
		idle, err := peakMiB(ctx, b.cli, watchEvery, "list", "-n", ns)
		if err != nil {
			return err
		}
		b.rows.judged(fmt.Sprintf("backup of %d MiB to a file ÷ etcdctl snapshot save through a port-forward", b.sizeMiB),
			ours.median()/theirs.median(), "ratio", 1.1,
			"ours: "+ours.spread("s")+"; etcdctl: "+theirs.spread("s"))
		b.rows.judged(fmt.Sprintf("peak memory of backup of %d MiB above that of list", b.sizeMiB), peaks.median()-idle,
			"MiB", 64,
			fmt.Sprintf("backup: %s; list: %.3g MiB", peaks.spread("MiB"), idle))
		return nil
	})
}

// fill writes the keyspace.
func (b *bench) fill(ctx context.Context, ns string) (err error) {
	db, err := b.site.DialEtcd(ctx, ns, "big")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return harness.FillKeys(ctx, db, "bench/", b.sizeMiB*mebibyte/valueBytes, valueBytes)
}

// etcdctl is the upstream client, with the client secret, through kubectl port-forward.
func (b *bench) etcdctl(ctx context.Context, ns string) (harness.Command, func(), error) {
	files, err := b.site.ClientFiles(ctx, ns, "big")
	if err != nil {
		return harness.Command{}, nil, err
	}
	for name, raw := range files {
		if err := os.WriteFile(filepath.Join(b.home, name), raw, 0o600); err != nil {
			return harness.Command{}, nil, fmt.Errorf("write the client certificate: %w", err)
		}
	}
	address, stop, err := b.site.Forward(ctx, ns, v1alpha1.PodName(v1alpha1.MemberName("big", 1)), "2379")
	if err != nil {
		return harness.Command{}, nil, err
	}
	c := b.site.Tool("etcdctl", "3.6")
	c.Env["ETCDCTL_ENDPOINTS"] = "https://" + address
	for variable, name := range map[string]string{"ETCDCTL_CERT": "tls.crt", "ETCDCTL_KEY": "tls.key",
		"ETCDCTL_CACERT": "ca.crt"} {
		c.Env[variable] = filepath.Join(b.home, name)
	}
	return c, stop, nil
}
