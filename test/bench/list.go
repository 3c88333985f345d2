package main

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const (
	records  = 1000
	listRuns = 10
)

// measureList holds list against kubectl on the same 1,000 records.
func measureList(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		if err := b.records(ctx, ns); err != nil {
			return err
		}
		kubectl := b.kubectl()
		var ours, theirs samples
		for i := range listRuns + warmRuns {
			list, err := succeed(ctx, b.cli, "list", "-n", ns)
			if err != nil {
				return err
			}
			get, err := succeed(ctx, kubectl, "get", "configmaps", "-l", v1alpha1.LabelKind+"=cluster", "-n", ns)
			if err != nil {
				return err
			}
			if i < warmRuns {
				continue
			}
			ours.took(list.Duration)
			theirs.took(get.Duration)
		}
		b.rows.judged("list of 1,000 clusters ÷ kubectl get configmaps of the same", ours.median()/theirs.median(), "ratio",
			1.5,
			"ours: "+ours.spread("s")+"; kubectl: "+theirs.spread("s"))
		return nil
	})
}

// records fills a namespace with copies of a real record; their clusters have no pods.
func (b *bench) records(ctx context.Context, ns string) error {
	if _, err := b.dbop(ctx, "create", "real", "--engine", "etcd", "--members", "1", "-n", ns); err != nil {
		return err
	}
	stored := b.site.Client.CoreV1().ConfigMaps(ns)
	real, err := stored.Get(ctx, v1alpha1.Record("real"), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read a record: %w", err)
	}
	const workers = 10
	failed := make(chan error, workers)
	for w := range workers {
		go func() {
			var err error
			for i := 1 + w; i < records && err == nil; i += workers {
				name := fmt.Sprintf("copy-%04d", i)
				labels := maps.Clone(real.Labels)
				labels[v1alpha1.LabelCluster], labels["app.kubernetes.io/instance"] = name, name
				_, err = stored.Create(ctx, &corev1.ConfigMap{Data: real.Data,
					ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Record(name), Labels: labels}}, metav1.CreateOptions{})
			}
			failed <- err
		}()
	}
	for range workers {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return fmt.Errorf("copy records: %w", err)
	}
	return nil
}
