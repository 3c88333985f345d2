package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	name      = "my-db"
	second    = "my-copy"
	keys      = 10000
	keyBytes  = 100
	keyPrefix = "demo/"
	perSecond = 200
)

// story is the main job, in the order of a cluster's life.
func story(ctx context.Context, s *stage) error {
	if err := s.addRepository(ctx); err != nil {
		return err
	}
	if err := s.do(ctx, "create 3 members, etcd 3.5, TLS", "create", name, "--engine", "etcd", "--version", "3.5",
		"--members", "3", "--storage", "512Mi", "--repository", s.repository); err != nil {
		return err
	}
	if err := s.spread(ctx); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.watch(fmt.Sprintf("write %d keys", keys), func() error {
		return harness.FillKeys(ctx, s.db, keyPrefix, keys, keyBytes)
	}); err != nil {
		return err
	}
	s.writer = harness.StartWriter(ctx, s.db, "live/", perSecond)
	s.gap = func(from, to time.Time) (time.Duration, error) { return s.writer.LongestGap(from, to), nil }
	s.say("A client writes %d keys a second from here on.", perSecond)
	for _, step := range []struct {
		title string
		args  []string
	}{
		{"status", []string{"status", name}},
		{"grow to 5", []string{"scale", name, "--members", "5"}},
		{"shrink to 3", []string{"scale", name, "--members", "3", "--yes"}},
		{"back up and verify", []string{"backup", name, "--verify"}},
		{"upgrade to 3.6", []string{"upgrade", name, "--version", "3.6"}},
		{"upgrade to 3.7", []string{"upgrade", name, "--version", "3.7"}},
		{"status", []string{"status", name}},
	} {
		if err := s.do(ctx, step.title, step.args...); err != nil {
			return err
		}
	}
	return finale(ctx, s)
}

// finale restores, compares and deletes.
func finale(ctx context.Context, s *stage) error {
	backups, err := s.backupsOf(ctx, name)
	if err != nil {
		return err
	}
	first := backups[len(backups)-1]
	if err := s.do(ctx, "restore into a second cluster", "restore", second, "--from", first, "--repository", s.repository,
		"--members", "3", "--storage", "512Mi"); err != nil {
		return err
	}
	if err := s.watch("compare key by key", func() error { return s.compare(ctx) }); err != nil {
		return err
	}
	counts := s.writer.Stop()
	s.gap = nil
	if err := s.watch("read every acknowledged write",
		func() error { return s.acknowledged(ctx, counts) }); err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		args  []string
	}{
		{"list", []string{"list"}},
		{"delete the second cluster", []string{"delete", second, "--purge", "--skip-backup", "--yes"}},
		{"delete the first, with a last backup", []string{"delete", name, "--purge", "--yes"}},
		{"list", []string{"list"}},
	} {
		if err := s.do(ctx, step.title, step.args...); err != nil {
			return err
		}
	}
	if err := postgres(ctx, s); err != nil {
		return err
	}
	if err := valkey(ctx, s); err != nil {
		return err
	}
	if err := s.forget(ctx); err != nil {
		return err
	}
	return s.nothingLeft(ctx)
}
