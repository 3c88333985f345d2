package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// agreed is an engine whose agents agree on a primary, and how a program writes to it.
type agreed struct {
	name string
	// server is the name of its processes.
	server string
	// from and to are releases, one after the other.
	from, to harness.Release
	// write starts a client that writes all the time, on a node if one is named.
	write func(ctx context.Context, b *bench, ns, node string) (*harness.PodWriter, error)
	// plain is the same server as a person would start it by hand.
	plain plainServer
	// held asks for what was written.
	held []string
	// bars are the longest gaps, in seconds, by the name of the trouble.
	bars map[string]float64
	// complains is whether that client tells of each connection that it did not get.
	complains bool
}

// withTroubles makes three members of an engine, and then trouble.
func withTroubles(of func() (agreed, error)) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		e, err := of()
		if err != nil {
			return err
		}
		return b.agreed(ctx, e)
	}
}

func postgres() (agreed, error) {
	found, err := harness.Releases("postgres", 15)
	if err != nil {
		return agreed{}, err
	}
	if len(found) < 2 {
		return agreed{}, errors.New("there is only one release of PostgreSQL 15 on this machine")
	}
	return agreed{name: "postgres", server: "postgres", from: found[len(found)-1], to: found[0],
		write: func(ctx context.Context, b *bench, ns, node string) (*harness.PodWriter, error) {
			_, err := b.dbop(ctx, "connect", "db", "-n", ns, "--", "-At", "-d", "app", "-c", harness.PostgresTable)
			if err != nil {
				return nil, err
			}
			spec := harness.PostgresWriter(ns, "db", found[0].Image)
			spec.Node = node
			return b.site.StartPodWriter(ctx, spec)
		},
		plain: plainServer{image: found[0].Image, port: 5432,
			script: `initdb -D /data/pg -A trust >/dev/null && exec postgres -D /data/pg -k /tmp -c listen_addresses='*'`,
			ready:  "pg_isready -h /tmp"},
		held: []string{"-At", "-d", "app", "-c", "SELECT n FROM written"},
		bars: map[string]float64{serverKilled: 4, agentKilled: 4, podDeleted: 3, podLost: 12, switchedOver: 1.5,
			switchedDirect: 1.5, upgraded: 1.5, nodeCut: 12},
		complains: true,
	}, nil
}

func valkey() (agreed, error) {
	older, err := harness.Releases("valkey", 8)
	if err != nil {
		return agreed{}, err
	}
	newer, err := harness.Releases("valkey", 9)
	if err != nil {
		return agreed{}, err
	}
	return agreed{name: "valkey", server: "valkey-server", from: older[0], to: newer[0],
		write: func(ctx context.Context, b *bench, ns, node string) (*harness.PodWriter, error) {
			return b.site.StartValkeyWriter(ctx, ns, "db", "valkey", older[0].Image, node)
		},
		plain: plainServer{image: older[0].Image, port: 6379,
			script: "exec valkey-server --dir /data --appendonly yes --protected-mode no", ready: "valkey-cli PING"},
		held: []string{"SMEMBERS", "written"},
		bars: map[string]float64{serverKilled: 3, podDeleted: 2, podLost: 12, switchedOver: 0.5, nodeCut: 12},
	}, nil
}

// agreed makes three members, and measures for how long no write was acknowledged in each trouble. Clients connect
// again for each write, by the service.
func (b *bench) agreed(ctx context.Context, e agreed) error {
	return b.inNamespace(ctx, func(ns string) error {
		began := time.Now()
		if _, err := b.dbop(ctx, "create", "db", "--engine", e.name, "--version", e.from.Version, "--image", e.from.Image,
			"--members", "3", "--config", "durability=strict", "-n", ns); err != nil {
			return err
		}
		b.rows.plain("create 3 members with TLS until the command returns", time.Since(began).Seconds(), "s",
			e.from.Version)
		if err := b.atRest(ctx, ns); err != nil {
			return err
		}
		alone, other, err := b.nodes(ctx, ns)
		if err != nil {
			return err
		}
		w, err := e.write(ctx, b, ns, other)
		if err != nil {
			return err
		}
		if err := b.residentAgents(ctx, ns); err != nil {
			return err
		}
		if err := b.gaps(ctx, e, ns, w, alone); err != nil {
			return err
		}
		acks, err := w.Stop(ctx)
		if err != nil {
			return err
		}
		r, err := b.dbop(ctx, append([]string{"connect", "db", "-n", ns, "--"}, e.held...)...)
		if err != nil {
			return err
		}
		b.rows.judged("acknowledged writes lost in all of these", float64(len(harness.Missing(acks,
			strings.Fields(r.Stdout)))), "writes", 0, fmt.Sprintf("of %d, with durability=strict", len(acks)))
		return nil
	})
}

// primary is the member that leads.
func (b *bench) primary(ctx context.Context, ns string) (name string, err error) {
	err = harness.Until(ctx, healthyWithin, "a primary", func(ctx context.Context) error {
		r, err := b.cli.Run(ctx, "status", "db", "-n", ns)
		for line := range strings.Lines(r.Stdout) {
			if f := strings.Fields(line); len(f) > 1 && f[1] == "primary" {
				name = f[0]
				return nil
			}
		}
		return cmp.Or(err, errors.New("status names none"))
	})
	return name, err
}

// settled waits for a primary and two replicas without a complaint.
func (b *bench) settled(ctx context.Context, ns string) error {
	return harness.Until(ctx, healthyWithin, "three healthy members", func(ctx context.Context) error {
		r, err := b.cli.Run(ctx, "status", "db", "-n", ns)
		if err == nil && (r.Code != 0 || strings.Count(r.Stdout, " replica ") != 2) {
			err = errors.New(r.Stdout)
		}
		return err
	})
}

// killProcess kills all processes of a name in the pod of a member, but for the first of all.
func (b *bench) killProcess(ctx context.Context, ns, member, name string) error {
	script := `for p in /proc/[0-9]*; do read -r c < $p/comm && [ "$c" = ` + name + ` ] && [ $p != /proc/1 ] && ` +
		`kill -9 ${p#/proc/}; done; true`
	_, err := succeed(ctx, b.site.Kubectl(b.home), "-n", ns, "exec", member+"-0", "--", "sh", "-c", script)
	return err
}

// residentAgents measures what agent and guard hold in memory, in each pod.
func (b *bench) residentAgents(ctx context.Context, ns string) error {
	const script = `for p in /proc/[0-9]*; do read -r c < $p/comm && [ "$c" = dbop-agent ] && ` +
		`while read -r k v _; do [ "$k" = VmRSS: ] && echo $v; done < $p/status; done; true`
	var all samples
	for i := range 3 {
		r, err := succeed(ctx, b.site.Kubectl(b.home), "-n", ns, "exec", fmt.Sprintf("db-%d-0", i+1), "--", "sh", "-c",
			script)
		if err != nil {
			return err
		}
		sum := 0.0
		for word := range strings.FieldsSeq(r.Stdout) {
			kib, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return fmt.Errorf("read the memory of the agent: %w", err)
			}
			sum += kib * 1024 / 1e6
		}
		all = append(all, sum)
	}
	b.rows.judged("resident memory of agent and guard", all.median(), "MB", 32, all.spread("MB"))
	return nil
}
