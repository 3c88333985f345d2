package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// addRepository starts an object store and adds a repository there; without the image of a store backups go to a
// directory.
func (s *stage) addRepository(ctx context.Context) error {
	s.repository = "dir:" + s.backups
	if !s.site.HasObjectStore() {
		s.say("No image of an object store is at hand (make stores): backups go to a directory.")
		return nil
	}
	s.say("An S3 object store with TLS is started in the cluster.")
	var err error
	if s.storage, err = s.site.CreateNamespace(ctx, "demo-store"); err != nil {
		return err
	}
	o, err := s.site.StartObjectStore(ctx, s.storage)
	if err != nil {
		return err
	}
	if err := o.MakeBucket(ctx, "backups", false); err != nil {
		return err
	}
	ca, key := filepath.Join(s.home, "ca.pem"), filepath.Join(s.home, "key.txt")
	if err := os.WriteFile(ca, o.CA, 0o600); err != nil {
		return fmt.Errorf("keep the authority of the store: %w", err)
	}
	maps.Copy(s.kubectl.Env, o.Environment())
	s.repository = "offsite"
	add := []string{"repository", "add", s.repository, "--url", "s3://backups/demo", "--endpoint", o.Endpoint, "--region",
		"us-east-1", "--path-style", "--ca-file", ca, "--from-env"}
	if err := s.do(ctx, "add an S3 repository, encrypted", append(add, "--new-key-file", key)...); err != nil {
		return err
	}
	return s.do(ctx, "give restores its key", "repository", "add", s.repository, "--url", "s3://backups/demo",
		"--identity-file", key)
}

// backupsOf are the identifiers of a cluster's backups in the repository, the newest first.
func (s *stage) backupsOf(ctx context.Context, cluster string) ([]string, error) {
	r, err := s.kubectl.Run(ctx, "dbop", "backup", "list", cluster, "--repository", s.repository, "-o", "name", "-n",
		s.namespace)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(r.Stdout)
	if len(ids) == 0 {
		return nil, errors.New("the backup is missing")
	}
	for i := range ids {
		ids[i] = strings.TrimPrefix(ids[i], "backup/")
	}
	return ids, nil
}

// forget removes the repository's keys. The backups stay in the store.
func (s *stage) forget(ctx context.Context) error {
	if s.storage == "" {
		return nil
	}
	return s.do(ctx, "forget the repository", "repository", "remove", s.repository, "--yes")
}
