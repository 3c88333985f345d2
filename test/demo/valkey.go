package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// cache is the name of the cluster of Valkey.
const cache = "my-cache"

// valkey takes a cluster of Valkey through its days, while a client in the cluster writes to it by the service of
// clients, and counts what a replica confirmed.
func valkey(ctx context.Context, s *stage) error {
	before, err := harness.Releases("valkey", 8)
	if err != nil {
		s.say("No image of Valkey is at hand: its part is left out. (%v)", err)
		return nil
	}
	after, err := harness.Releases("valkey", 9)
	if err != nil {
		return err
	}
	if err := s.do(ctx, "create 3 members, Valkey", "create", cache, "--engine", "valkey", "--version",
		before[0].Version, "--image", before[0].Image, "--storage", "1Gi", "--config", "durability=strict",
		"--repository", s.repository); err != nil {
		return err
	}
	w, err := s.site.StartValkeyWriter(ctx, s.namespace, cache, "valkey", before[0].Image, "")
	if err != nil {
		return err
	}
	s.measure(ctx, w)
	s.say("A client adds numbers to a set from here on, over a new connection each; WAIT confirms them.")
	if err := s.killPrimary(ctx, w, cache); err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		args  []string
	}{
		{"switch over", []string{"switchover", cache}},
		{"set maxmemory without a restart", []string{"configure", cache, "--set", "maxmemory=64mb"}},
		{"upgrade to " + after[0].Version, []string{"upgrade", cache, "--version", after[0].Version, "--image",
			after[0].Image, "--skip-backup"}},
		{"back up and verify", []string{"backup", cache, "--verify"}},
		{"status", []string{"status", cache}},
	} {
		if err := s.do(ctx, step.title, step.args...); err != nil {
			return err
		}
	}
	if err := s.watch("read every acknowledged number", func() error { return s.numbers(ctx, w) }); err != nil {
		return err
	}
	return s.do(ctx, "delete it", "delete", cache, "--purge", "--skip-backup", "--yes")
}

// numbers proves that no number that a replica confirmed is missing.
func (s *stage) numbers(ctx context.Context, w *harness.PodWriter) error {
	acks, err := w.Stop(ctx)
	s.gap = nil
	if err != nil {
		return err
	}
	r, err := s.site.CLI(s.home, nil).Run(ctx, "connect", cache, "-n", s.namespace, "--", "SMEMBERS", "written")
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("read the set: %s", r.Stderr)
	}
	if err != nil {
		return err
	}
	return lost(acks, strings.Fields(r.Stdout))
}
