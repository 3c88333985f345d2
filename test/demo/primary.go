package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// measure has the table show the longest time without an acknowledged write of a client.
func (s *stage) measure(ctx context.Context, w *harness.PodWriter) {
	s.gap = func(from, _ time.Time) (time.Duration, error) {
		if err := w.GoesOn(ctx, "a gap to end"); err != nil {
			return 0, err
		}
		return w.LongestGap(ctx, from, time.Now())
	}
}

// killPrimary takes the primary's pod away without a warning, and waits until its cluster is whole again.
func (s *stage) killPrimary(ctx context.Context, w *harness.PodWriter, cluster string) error {
	primary, err := s.primary(ctx, cluster)
	if err != nil {
		return err
	}
	s.say("The pod of the primary, %s, is killed.", primary)
	sc := s.open("kill the primary")
	sc.operation = true
	args := []string{"delete", "pod", primary + "-0", "--grace-period", "0", "--force", "-n", s.namespace}
	fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
	if _, err = s.kubectl.Run(ctx, args...); err == nil {
		err = w.GoesOn(ctx, "another member to take over")
	}
	s.close(sc, err != nil)
	if err != nil {
		return err
	}
	return harness.Until(ctx, time.Minute, "the killed member to be back", func(ctx context.Context) error {
		r, err := s.site.CLI(s.home, nil).Run(ctx, "status", cluster, "-n", s.namespace)
		if err == nil && r.Code != 0 {
			err = fmt.Errorf("exit code %d", r.Code)
		}
		return err
	})
}

// primary is the member that takes writes, as status names it.
func (s *stage) primary(ctx context.Context, cluster string) (string, error) {
	r, err := s.site.CLI(s.home, nil).Run(ctx, "status", cluster, "-n", s.namespace)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(r.Stdout) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "primary" {
			return f[0], nil
		}
	}
	return "", errors.New("status names no primary:\n" + r.Stdout)
}

// lost says which acknowledged writes are not held any more.
func lost(acks []harness.PodAck, held []string) error {
	if gone := harness.Missing(acks, held); len(gone) > 0 {
		return fmt.Errorf("%d acknowledged writes are lost, such as %d", len(gone), gone[0])
	}
	fmt.Printf("%d of %d acknowledged writes are there\n", len(acks), len(acks))
	return nil
}
