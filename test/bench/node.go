package main

import (
	"context"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// healWithin bounds what puts a node back.
const healWithin = 2 * time.Minute

// place is a member that has its node to itself.
type place struct{ node, member string }

// nodes finds a member that is alone on its node, and another node of the cluster's. Where nodes can't be cut off, or
// no member is alone, there is none.
func (b *bench) nodes(ctx context.Context, ns string) (alone place, other string, err error) {
	if _, err := b.site.Machine(); errors.Is(err, harness.ErrNoMachine) {
		return place{}, "", nil
	} else if err != nil {
		return place{}, "", err
	}
	pods, err := b.site.Client.CoreV1().Pods(ns).List(ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=db,app.kubernetes.io/component=database"})
	if err != nil {
		return place{}, "", err
	}
	on := map[string][]string{}
	for _, p := range pods.Items {
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], strings.TrimSuffix(p.Name, "-0"))
	}
	for node, members := range on {
		if len(members) == 1 {
			alone = place{node: node, member: members[0]}
		} else {
			other = node
		}
	}
	if alone.node == "" || other == "" {
		return place{}, "", nil
	}
	return alone, other, nil
}

// cut takes a node off the network until clients write elsewhere, and puts it back.
func (b *bench) cut(ctx context.Context, node string, w *harness.PodWriter) error {
	m, err := b.site.Machine()
	if err != nil {
		return err
	}
	defer func() {
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), healWithin)
		defer cancel()
		_ = m.Cluster(back, "node", "heal", node) // what comes next tells whether it is there
	}()
	if err := m.Cluster(ctx, "node", "cut", node); err != nil {
		return err
	}
	return w.GoesOn(ctx, "writes while a node is cut off")
}
