package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	barListed = 3.0
	listed    = 10_000
	// provenEach is one backup in a week of those that are taken each day.
	provenEach = 7
)

// measureBackupList lists a large repository on loopback by the command that a person types.
func measureBackupList(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		dir := filepath.Join(b.home, "listed")
		server, err := harness.StartLocalStore(ctx, filepath.Join(dir, "server"))
		if err != nil {
			return err
		}
		if err := server.MakeBucket(ctx, storeBucket, false); err != nil {
			return err
		}
		if err := copyNames(ctx, filepath.Join(dir, "server", "data", storeBucket, "many")); err != nil {
			return err
		}
		cli := b.site.CLI(b.home, server.Environment())
		if _, err := succeed(ctx, cli, "repository", "add", "many", "--url", "s3://"+storeBucket+"/many", "--endpoint",
			server.Endpoint, "--path-style", "--region", "us-east-1", "--ca-file", filepath.Join(dir, "server", "ca.pem"),
			"--from-env", "--new-key-file", filepath.Join(dir, "key.txt"), "-n", ns); err != nil {
			return err
		}
		var took samples
		for range b.repeats {
			r, err := succeed(ctx, cli, "backup", "list", "--repository", "many", "-n", ns)
			if err != nil {
				return err
			}
			if n := strings.Count(r.Stdout, "\n"); n != listed+1 {
				return fmt.Errorf("%d of %d backups are listed", n-1, listed)
			}
			took.took(r.Duration)
		}
		b.rows.judged(fmt.Sprintf("list of %d backups in one repository on S3 on loopback", listed), took.median(), "s",
			barListed, "the whole command: "+took.spread("s")+"; a request for each thousand of backups and of proofs")
		return nil
	})
}

// copyNames writes one backup with a proof, and copies their names in the directory of the server: a listing reads
// nothing else.
func copyNames(ctx context.Context, dir string) error {
	at, err := store.NewDirectory(dir)
	if err != nil {
		return err
	}
	signer, public, err := archive.NewSigner("bench")
	if err != nil {
		return err
	}
	keys, err := archive.ParseKeys(nil, nil, signer, []string{public})
	if err != nil {
		return err
	}
	a := archive.Open(at, keys)
	const id = "bench-20261123T101500Z-0000"
	w, _, err := a.Begin(ctx, archive.Request{Scope: archive.Scope{Namespace: "bench", Cluster: "bench"}, ID: id,
		Operation: id})
	if err != nil {
		return err
	}
	if err := w.Stream(ctx, storeStream, strings.NewReader("nothing")); err != nil {
		return err
	}
	m, err := w.Commit(ctx, archive.Manifest{Engine: "etcd", Version: "3.6.16", StartedAt: time.Now(),
		FinishedAt: time.Now(), Facts: map[string]string{"snapshot": "{}"}})
	if err != nil {
		return err
	}
	if err := a.AddProof(ctx, m, archive.Proof{Level: archive.LevelIntact}); err != nil {
		return err
	}
	for kind, each := range map[string]int{"manifests": 1, "proofs": provenEach} {
		found, err := filepath.Glob(filepath.Join(dir, kind, "bench", "bench", "*.json"))
		if err != nil || len(found) != 1 {
			return errors.Join(err, fmt.Errorf("%d %s are there, and one was written", len(found), kind))
		}
		below, name := filepath.Split(found[0])
		for i := 1; i < listed; i++ {
			if i%each > 0 {
				continue
			}
			// The time of a ULID is its first ten characters, its end is random.
			other := name[:22] + fmt.Sprintf("%04d", i) + name[26:]
			other = strings.Replace(other, id, fmt.Sprintf("bench-20261122T101500Z-%04x", i), 1)
			if err := os.WriteFile(filepath.Join(below, other), []byte("{}"), 0o600); err != nil {
				return fmt.Errorf("make a name: %w", err)
			}
		}
	}
	return nil
}
