package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// measureCreate holds the creation of three members with TLS against a plain
// StatefulSet, one after the other, each cluster alone on the machine.
func measureCreate(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) error {
		// The image is the tool's own.
		image, err := b.warm(ctx, ns)
		if err != nil {
			return err
		}
		var ours, returned, plain samples
		for i := range b.rounds {
			took, end, err := b.createOurs(ctx, ns, fmt.Sprintf("ours-%d", i))
			if err != nil {
				return err
			}
			ours.took(took)
			returned.took(end)
			p := plainEtcd{name: fmt.Sprintf("plain-%d", i), namespace: ns, image: image, members: 3}
			if took, err = b.createPlain(ctx, p); err != nil {
				return err
			}
			plain.took(took)
			fmt.Printf("round %d: ours %.2f s (command %.2f s), plain %.2f s\n", i+1, ours[i], returned[i], plain[i])
		}
		base := "plain StatefulSet: " + plain.spread("s")
		b.rows.judged("create 3 members with TLS to healthy voters ÷ plain parallel StatefulSet",
			ours.median()/plain.median(), "ratio", 2.0,
			"ours: "+ours.spread("s")+"; "+base)
		b.rows.plain("create 3 members with TLS to healthy voters", ours.median(), "s", ours.spread("s"))
		b.rows.plain("create 3 members with TLS until the command returns", returned.median(), "s", returned.spread("s"))
		return nil
	})
}

// warm makes a cluster that isn't counted, which warms the nodes, and returns its image.
func (b *bench) warm(ctx context.Context, ns string) (string, error) {
	if _, err := b.dbop(ctx, "create", "warm", "--engine", "etcd", "--members", "3", "-n", ns); err != nil {
		return "", err
	}
	image, err := b.imageOf(ctx, ns, "warm")
	if err != nil {
		return "", err
	}
	return image, b.deleteOurs(ctx, ns, "warm")
}

// imageOf is the image of the members of a cluster that the tool made.
func (b *bench) imageOf(ctx context.Context, ns, cluster string) (string, error) {
	pods, err := b.site.Client.CoreV1().Pods(ns).List(ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + cluster + ",app.kubernetes.io/component=database"})
	if err != nil || len(pods.Items) == 0 {
		return "", errors.Join(fmt.Errorf("cluster %s has no pods", cluster), err)
	}
	return pods.Items[0].Spec.Containers[0].Image, nil
}

// createOurs returns how long it took until the voters were healthy, and until the command returned.
func (b *bench) createOurs(ctx context.Context, ns, name string) (time.Duration, time.Duration, error) {
	began := time.Now()
	command, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	p, err := b.cli.Start(command, "create", name, "--engine", "etcd", "--members", "3", "-n", ns)
	if err != nil {
		return 0, 0, err
	}
	err = b.voters(ns, name).healthy(ctx, 3)
	took := time.Since(began)
	r, waited := p.Wait()
	if r.Code != 0 {
		waited = errors.Join(waited, fmt.Errorf("it failed: %s", r))
	}
	if err := errors.Join(err, waited); err != nil {
		return 0, 0, err
	}
	return took, r.Duration, b.deleteOurs(ctx, ns, name)
}

func (b *bench) deleteOurs(ctx context.Context, ns, name string) error {
	if _, err := b.dbop(ctx, "delete", name, "--purge", "--skip-backup", "--yes", "-n", ns); err != nil {
		return err
	}
	return b.empty(ctx, ns)
}

func (b *bench) createPlain(ctx context.Context, p plainEtcd) (time.Duration, error) {
	began := time.Now()
	if err := p.create(ctx, b); err != nil {
		return 0, err
	}
	if err := p.quorum(b).healthy(ctx, p.members); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := b.site.Client.AppsV1().StatefulSets(p.namespace).Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("delete the plain StatefulSet: %w", err)
	}
	if err := b.site.Client.CoreV1().Services(p.namespace).Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("delete the plain service: %w", err)
	}
	return took, b.empty(ctx, p.namespace)
}

// empty waits until no pod and no volume of a namespace weighs on what comes next.
func (b *bench) empty(ctx context.Context, ns string) error {
	others := metav1.ListOptions{LabelSelector: "app!=store"} // what was put beside the clusters stays
	return harness.Until(ctx, clearWithin, "the pods and volumes of "+ns+" to go", func(ctx context.Context) error {
		pods, err := b.site.Client.CoreV1().Pods(ns).List(ctx, others)
		if err != nil {
			return err
		}
		claims, err := b.site.Client.CoreV1().PersistentVolumeClaims(ns).List(ctx, others)
		if err != nil {
			return err
		}
		if n := len(pods.Items) + len(claims.Items); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
}
