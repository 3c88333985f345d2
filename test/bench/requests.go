package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// printed finds a number in what a program printed.
func printed(pattern string) func(string) (float64, error) {
	found := regexp.MustCompile(pattern)
	return func(out string) (float64, error) {
		m := found.FindStringSubmatch(out)
		if m == nil {
			return 0, fmt.Errorf("there is no %s in %q", pattern, out)
		}
		return strconv.ParseFloat(m[1], 64)
	}
}

// postgresClients are pgbench with 8 sessions.
func postgresClients() (clients, error) {
	e, err := postgres()
	if err != nil {
		return clients{}, err
	}
	// The certificate is proven by the name of the service, whatever the way. A commit does not wait for a disk: that
	// would hide what lies between.
	const at = `export PGHOSTADDR=$HOST PGPORT=$PORT PGCONNECT_TIMEOUT=30 PGOPTIONS="-c synchronous_commit=off"; `
	tps := printed(`tps = ([0-9.]+)`)
	return clients{agreed: e, port: 5432,
		spec:    func(ns string) harness.PodWriterSpec { return harness.PostgresWriter(ns, "db", e.to.Image) },
		prepare: at + "pgbench -i -q -s 10 app",
		kinds: []stress{
			{"pgbench TPC-B", at + "pgbench -n -b tpcb-like -c 8 -j 2 -T $LENGTH app", tps, false},
			{"pgbench read-only", at + "pgbench -n -b select-only -c 8 -j 2 -T $LENGTH app", tps, true},
		}}, nil
}

// valkeyClients are valkey-benchmark with its 50 connections.
func valkeyClients() (clients, error) {
	e, err := valkey()
	if err != nil {
		return clients{}, err
	}
	// #nosec G101 -- names of variables
	const program = `valkey-benchmark --tls --cacert /tls/ca.crt -h $HOST -p $PORT --user "$NAME" -a "$REDISCLI_AUTH" ` +
		`-r 100000 --csv -n $REQUESTS `
	set, get := printed(`"SET","([0-9.]+)"`), printed(`"GET","([0-9.]+)"`)
	return clients{agreed: e, port: 6379,
		spec: func(string) harness.PodWriterSpec {
			// #nosec G101 -- a variable's name
			return harness.PodWriterSpec{Cluster: "db", Image: e.to.Image, User: "NAME", Password: "REDISCLI_AUTH"}
		},
		prepare: "true",
		kinds: []stress{
			{"valkey-benchmark SET", program + "-t set", set, false},
			{"valkey-benchmark GET", program + "-t get", get, true},
			{"valkey-benchmark -P 16 SET", program + "-P 16 -t set", set, false},
			{"valkey-benchmark -P 16 GET", program + "-P 16 -t get", get, true},
		}}, nil
}
