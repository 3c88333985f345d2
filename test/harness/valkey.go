package harness

import "context"

// valkeyScript adds one number after the other to a set by the service of clients, each over a connection of its own,
// as a program does that reconnects. A number counts once a replica holds it too. It pauses, as that of PostgreSQL.
const valkeyScript = `n=0; while :; do n=$((n+1))
out=$(printf 'SADD written %s\nWAIT 1 1000\n' $n |
timeout 2 $CLI --tls --cacert /tls/ca.crt -h $HOST --user "$NAME" --no-auth-warning 2>/dev/null | tr '\n' ' ')
case "$out" in "1 1 " | "1 2 ") echo "$n $(date +%s%N)" ;; esac; sleep 0.05; done`

// StartValkeyWriter starts a writer to the set "written" of a cluster of Valkey or Redis, on a node if one is named. It
// proves the server's certificate.
func (s *Site) StartValkeyWriter(ctx context.Context, namespace, cluster, family, image,
	node string) (*PodWriter, error) {
	// #nosec G101 -- a variable's name
	return s.StartPodWriter(ctx, PodWriterSpec{Namespace: namespace, Cluster: cluster, Image: image, Node: node,
		Script: valkeyScript, User: "NAME", Password: "REDISCLI_AUTH",
		Env: map[string]string{"HOST": cluster + "-client." + namespace + ".svc", "CLI": family + "-cli"}})
}
