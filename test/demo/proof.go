package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// connect makes the client that fills, writes and compares: with the client
// secret only, as an application has it.
func (s *stage) connect(ctx context.Context) error {
	files, err := s.site.ClientFiles(ctx, s.namespace, name)
	if err != nil {
		return err
	}
	if files == nil {
		return errors.New("the cluster has no client secret: it runs without TLS")
	}
	s.db, err = s.site.DialEtcd(ctx, s.namespace, name)
	return err
}

// compare holds the second cluster against the first: all the keys, one by one.
func (s *stage) compare(ctx context.Context) error {
	other, err := s.site.DialEtcd(ctx, s.namespace, second)
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	n, err := harness.CompareKeys(ctx, s.db, other, keyPrefix)
	if err != nil {
		return err
	}
	if n != keys {
		return fmt.Errorf("%d keys are equal, not %d", n, keys)
	}
	fmt.Printf("%d keys are equal in both clusters\n", n)
	return nil
}

// acknowledged proves that no write that the client was told of is missing,
// after two upgrades and two changes of size.
func (s *stage) acknowledged(ctx context.Context, counts harness.Counts) error {
	missing, err := harness.MissingAcks(ctx, s.db, "live/", s.writer.AckedBefore())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d acknowledged writes are lost, such as %s", len(missing), missing[0])
	}
	if counts.Lost > 0 {
		return fmt.Errorf("%d writes were never acknowledged: %s", counts.Lost, counts.LastError)
	}
	fmt.Printf("%d of %d acknowledged writes are there\n", counts.Acked, counts.Acked)
	return nil
}

// nothingLeft proves that deletion left no object behind but its history.
func (s *stage) nothingLeft(ctx context.Context) error {
	return harness.Until(ctx, time.Minute, "everything to be gone", func(ctx context.Context) error {
		core, apps := s.site.Client.CoreV1(), s.site.Client.AppsV1()
		sets, err := apps.StatefulSets(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		claims, err := core.PersistentVolumeClaims(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		pods, err := core.Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		services, err := core.Services(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		secrets, err := core.Secrets(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if n := len(sets.Items) + len(claims.Items) + len(pods.Items) + len(services.Items) + len(secrets.Items); n > 0 {
			return fmt.Errorf("%d objects are left: %d workloads, %d volumes, %d pods, %d services, %d secrets", n,
				len(sets.Items), len(claims.Items), len(pods.Items), len(services.Items), len(secrets.Items))
		}
		return nil
	})
}
