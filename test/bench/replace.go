package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// measureReplace takes a member's pod and volume away for good, and measures
// from that moment until there are three healthy voters again.
func measureReplace(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "mend", "--engine", "etcd", "--members", "3", "-n", ns); err != nil {
			return err
		}
		var took samples
		refused := 0
		for i := range b.repeats {
			member := v1alpha1.MemberName("mend", i%3+1)
			began := time.Now()
			if err := b.destroy(ctx, ns, member); err != nil {
				return err
			}
			n, err := b.replace(ctx, ns, member)
			if err != nil {
				return err
			}
			refused += n
			if err := b.voters(ns, "mend").healthy(ctx, 3); err != nil {
				return err
			}
			took.took(time.Since(began))
			fmt.Printf("%s replaced after %.1f s\n", member, took[i])
		}
		b.rows.judged("lose a member's pod and volume, replace-member to 3 healthy voters", took.median(), "s", 30,
			fmt.Sprintf("%s; the command was typed again %d times", took.spread("s"), refused))
		return nil
	})
}

// exitRefused is the tool's exit code when a safety check says no.
const exitRefused = 4

// replace types the command until it is accepted, as a person would: right
// after the loss of a leader there is no quorum for a second. It returns how
// often it was refused; that time counts.
func (b *bench) replace(ctx context.Context, ns, member string) (int, error) {
	refused := 0
	err := harness.Until(ctx, healthyWithin, member+" to be replaced", func(context.Context) error {
		r, err := b.cli.Run(ctx, "member", "replace", "mend", member, "--yes", "-n", ns)
		if err == nil && r.Code == exitRefused {
			refused++
		}
		if err == nil && r.Code != 0 {
			return fmt.Errorf("it failed: %s", r)
		}
		return err
	})
	return refused, err
}

// destroy deletes a member's volume and, without grace, its pod.
func (b *bench) destroy(ctx context.Context, ns, member string) error {
	core, now := b.site.Client.CoreV1(), int64(0)
	if err := core.PersistentVolumeClaims(ns).Delete(ctx, v1alpha1.VolumeName(member),
		metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the volume of %s: %w", member, err)
	}
	if err := core.Pods(ns).Delete(ctx, v1alpha1.PodName(member),
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return fmt.Errorf("delete the pod of %s: %w", member, err)
	}
	return nil
}
