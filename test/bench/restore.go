package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// measureRestore holds the restore of a backup into a new cluster of one
// member against etcdutl on the node, with the same file, plus the start of a
// pod. That side moves no byte over the network and compares nothing.
func measureRestore(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "big", "--engine", "etcd", "--members", "1", "--storage", "4Gi", "-n",
			ns); err != nil {
			return err
		}
		if err := b.fill(ctx, ns); err != nil {
			return err
		}
		dir := filepath.Join(b.home, "restore-from")
		if _, err := b.dbop(ctx, "backup", "big", "--to", dir, "-n", ns); err != nil {
			return err
		}
		backup, err := harness.LastBackup(dir)
		if err != nil {
			return err
		}
		image, err := b.imageOf(ctx, ns, "big")
		if err != nil {
			return err
		}
		if err := b.deleteOurs(ctx, ns, "big"); err != nil {
			return err
		}
		var ours, util, start samples
		for i := range b.repeats {
			name := fmt.Sprintf("copy-%d", i)
			r, err := b.dbop(ctx, "restore", name, "--members", "1", "--storage", "4Gi", "--repository", "dir:"+dir, "--from",
				backup.ID, "-n", ns)
			if err != nil {
				return err
			}
			ours.took(r.Duration)
			if err := b.deleteOurs(ctx, ns, name); err != nil {
				return err
			}
			took, err := b.etcdutl(ctx, backup.Path)
			if err != nil {
				return err
			}
			util.took(took)
			p := plainEtcd{name: fmt.Sprintf("plain-%d", i), namespace: ns, image: image, members: 1}
			if took, err = b.createPlain(ctx, p); err != nil {
				return err
			}
			start.took(took)
			fmt.Printf("restore %.2f s, etcdutl %.2f s, start %.2f s\n", ours[i], util[i], start[i])
		}
		b.rows.judged(fmt.Sprintf("restore of %d MiB into one member ÷ etcdutl snapshot restore on the node plus pod start",
			b.sizeMiB),
			ours.median()/(util.median()+start.median()), "ratio", 1.5,
			"ours: "+ours.spread("s")+"; etcdutl: "+util.spread("s")+"; pod start: "+start.spread("s"))
		return nil
	})
}

// etcdutl restores the file into a directory of this machine, which is the node too.
func (b *bench) etcdutl(ctx context.Context, file string) (took time.Duration, err error) {
	into := filepath.Join(b.home, "etcdutl")
	defer func() { err = errors.Join(err, os.RemoveAll(into)) }()
	r, err := succeed(ctx, b.site.Tool("etcdutl", "3.6"), "snapshot", "restore", file, "--data-dir", into)
	return r.Duration, err
}
