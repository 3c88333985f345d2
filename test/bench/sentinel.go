package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// watchedScript is a server by hand, with the Sentinel beside it as it comes: it takes 30 s for a server to be down.
	watchedScript = `mkdir -p /tmp/s && cd /tmp/s && ` +
		`printf 'port 26379\nprotected-mode no\nsentinel monitor db %s 6379 2\n' "$PRIMARY" > sentinel.conf && ` +
		`valkey-server --dir /tmp --appendonly yes --protected-mode no $FOLLOW & ` +
		`exec valkey-server /tmp/s/sentinel.conf --sentinel`
	// watchedWriter asks a Sentinel for the primary before each write, as its clients do.
	watchedWriter = `n=0; while :; do n=$((n+1)); ` +
		`at=$(timeout 2 valkey-cli -h "$SENTINEL" -p 26379 SENTINEL get-master-addr-by-name db | head -n 1); ` +
		`got=$(timeout 2 valkey-cli -h "$at" SADD written $n 2>/dev/null); [ "$got" = 1 ] && echo "$n $(date +%s%N)"; ` +
		`sleep 0.05; done`
)

// measureSentinel cuts the node of the primary off, of three members and of three servers with Sentinels, each alone
// there, while a client on the other node writes.
func measureSentinel(ctx context.Context, b *bench) error {
	e, err := valkey()
	if err != nil {
		return err
	}
	return b.inNamespace(ctx, func(ns string) error {
		if _, err := b.dbop(ctx, "create", "db", "--engine", e.name, "--version", e.from.Version, "--image", e.from.Image,
			"--members", "3", "-n", ns); err != nil {
			return err
		}
		alone, other, err := b.nodes(ctx, ns)
		if err != nil {
			return err
		}
		if alone.node == "" {
			return errors.New("no node can be cut off that has one of the members")
		}
		w, err := e.write(ctx, b, ns, other)
		if err != nil {
			return err
		}
		ours, err := b.gap(ctx, e, ns, w, nodeCut, alone)
		if err != nil {
			return err
		}
		if _, err := w.Stop(ctx); err != nil {
			return err
		}
		theirs, err := b.watched(ctx, e, ns, alone.node, other)
		if err != nil {
			return err
		}
		b.rows.judged("longest write gap: "+nodeCut, ours.Seconds(), "s", e.bars[nodeCut], "n=1")
		b.rows.plain("longest write gap: the node of the primary is cut off: Sentinel with its defaults ÷ ours",
			theirs.Seconds()/ours.Seconds(), "ratio", fmt.Sprintf("Sentinel: %.1f s; ours: %.1f s; n=1", theirs.Seconds(),
				ours.Seconds()))
		return nil
	})
}

// watched starts servers with Sentinels, and cuts the node of their primary off.
func (b *bench) watched(ctx context.Context, e agreed, ns, node, other string) (time.Duration, error) {
	at, err := b.startPod(ctx, ns, watchedServer("watched-0", node, e.from.Image, "", ""))
	if err != nil {
		return 0, err
	}
	sentinel := ""
	for _, name := range []string{"watched-1", "watched-2"} {
		if sentinel, err = b.startPod(ctx, ns, watchedServer(name, other, e.from.Image, at, "--replicaof "+at+
			" 6379")); err != nil {
			return 0, err
		}
	}
	if err := harness.Until(ctx, healthyWithin, "Sentinels that know each other", func(ctx context.Context) error {
		for _, pod := range []string{"watched-0", "watched-1", "watched-2"} {
			out, err := b.inPod(ctx, ns, pod, "", "valkey-cli -p 26379 INFO sentinel")
			if err == nil && (!strings.Contains(out, "status=ok") || !strings.Contains(out, "slaves=2,sentinels=3")) {
				err = errors.New(out)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	w, err := b.site.StartPodWriter(ctx, harness.PodWriterSpec{Namespace: ns, Cluster: "db", Node: other,
		Image: e.from.Image, Script: watchedWriter, User: "NAME", Password: "UNUSED",
		Env: map[string]string{"SENTINEL": sentinel}})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.cut(ctx, node, w); err != nil {
		return 0, err
	}
	return w.LongestGap(ctx, began, time.Now())
}

// watchedServer is a pod with a server and a Sentinel. The first one is the primary.
func watchedServer(name, node, image, primary, follow string) *corev1.Pod {
	yes, no, user := true, false, int64(999)
	address := corev1.EnvVar{Name: "PRIMARY", Value: primary}
	if primary == "" {
		address = corev1.EnvVar{Name: "PRIMARY", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: node, AutomountServiceAccountToken: &no, TerminationGracePeriodSeconds: new(int64(0)),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "server", Image: image, Command: []string{"sh", "-c", watchedScript},
			Env: []corev1.EnvVar{address, {Name: "FOLLOW", Value: follow}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
	}}
}
