package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// stockRestore makes data of a backup and of the log, as docs/repository-format.md tells: by age, zstd, tar and
// PostgreSQL's own programs.
const stockRestore = `set -eu
mkdir -m 700 "$DATA"
for v in "$REPO"/data/ns/db/*/base.tar.*.zst.age; do "$AGE" -d -i "$KEY" "$v" | zstd -dcq; done | tar -x -C "$DATA"
"$BIN"/pg_verifybackup "$DATA"
rm -f "$DATA"/standby.signal
touch "$DATA"/recovery.signal
cat > "$SOCKETS"/get.sh <<'END'
for f in "$REPO"/log/ns/db/token/*/"$1"_*.zst.age; do
	test -e "$f" || exit 1
	"$AGE" -d -i "$KEY" "$f" | zstd -dcq > "$2"
done
END
echo 'local all all trust' > "$SOCKETS"/hba.conf
cat > "$SOCKETS"/postgresql.conf <<END
hba_file = '$SOCKETS/hba.conf'
ident_file = '/dev/null'
listen_addresses = ''
hot_standby = off
unix_socket_directories = '$SOCKETS'
restore_command = 'sh $SOCKETS/get.sh %f %p'
recovery_target_lsn = '$LSN'
recovery_target_action = 'promote'
END
"$BIN"/pg_ctl -D "$DATA" -w -t 60 -l "$SOCKETS"/log -o "-c config_file=$SOCKETS/postgresql.conf" start > /dev/null
timeout 60 sh -c 'until "$BIN"/pg_isready -q -h "$SOCKETS"; do sleep 0.1; done'
"$BIN"/psql -h "$SOCKETS" -U dbop -d postgres -At -c "SELECT string_agg(n::text, ' ' ORDER BY n) FROM kept"
"$BIN"/pg_ctl -D "$DATA" -m fast stop > /dev/null
`

// TestStockRestore restores an encrypted backup and the encrypted log up to a place without this program. It comes to
// what this program comes to.
func TestStockRestore(t *testing.T) {
	t.Parallel()
	age := storetest.Program(t, "age")
	s := newSite(t, options{durability: protocol.Async, members: 1, engine: archiving{}})
	s.wait("a primary", func() bool { return s.primary() != nil })
	secret, recipient, err := archive.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	signer, public, err := archive.NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := archive.ParseKeys([]string{recipient}, []string{secret}, signer, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(s.dir, "repository")
	dir, err := store.NewDirectory(repository)
	if err != nil {
		t.Fatal(err)
	}
	a := archive.Open(dir, keys)
	collector := s.collectorInto(t, a)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	p := s.awaitPrimary()
	ask := func(statement string) string {
		t.Helper()
		got, err := p.ask("dbop", 10*time.Second, statement)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", statement, got, err)
		}
		return got[0][0]
	}
	ask("CREATE TABLE kept AS SELECT generate_series(1, 3) AS n; SELECT 1")
	facts := s.facts(p, "base")
	s.save(t, a, "base")
	ask("INSERT INTO kept VALUES (4) RETURNING n")
	lsn := ask("INSERT INTO kept VALUES (5); SELECT pg_current_wal_insert_lsn()") // that of the commit
	ask("INSERT INTO kept VALUES (6); SELECT pg_switch_wal()")
	end := time.Now()
	s.wait("the log to be archived", func() bool { return s.window(t, collector, facts).To.After(end) })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	sockets := filepath.Join(s.dir, "k")
	key := filepath.Join(s.dir, "key.txt")
	if err := os.Mkdir(sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.own(sockets, key)
	s.ownTree(repository)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", stockRestore)
	cmd.Dir, cmd.SysProcAttr = sockets, &syscall.SysProcAttr{Credential: s.owner}
	cmd.Env = append(os.Environ(), "REPO="+repository, "AGE="+s.executable(t, age), "KEY="+key, "LSN="+lsn,
		"SOCKETS="+sockets, "BIN="+programs(t), "DATA="+filepath.Join(sockets, "data"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(sockets, "log"))
		t.Fatalf("%v: %s\n%s", err, out, log)
	}
	d := data{site: s, directory: filepath.Join(s.dir, "ours")}
	to := v1alpha1.RecoveryTarget{LSN: lsn, Timeline: s.window(t, collector, facts).Timeline}
	if err := d.forward(t, "base", s.spool(t, collector), to); err != nil {
		t.Fatal(err)
	}
	ours := d.ask(t, installed(t), [2]string{"postgres", "SELECT string_agg(n::text, ' ' ORDER BY n) FROM kept"})
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if stock := lines[len(lines)-1]; stock != ours[0] || stock != "1 2 3 4 5" {
		t.Errorf("stock tools come to %q, this program to %q", stock, ours[0])
	}
}

// save stores a backup of the site in a repository.
func (s *site) save(t *testing.T, a *archive.Archive, name string) {
	t.Helper()
	w, _, err := a.Begin(t.Context(), archive.Request{Scope: archive.Scope{Namespace: "ns", Cluster: "db"}, ID: name,
		Operation: "op"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := w.Stream(t.Context(), "base.tar", in); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), archive.Manifest{Engine: "postgres", Incarnation: "1",
		Streams: []archive.Stream{{Name: "base.tar"}}}); err != nil {
		t.Fatal(err)
	}
}

// executable copies a program to where the user of the servers may run it.
func (s *site) executable(t *testing.T, program string) string {
	t.Helper()
	raw, err := os.ReadFile(program)
	to := filepath.Join(s.dir, filepath.Base(program))
	if err == nil {
		err = os.WriteFile(to, raw, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
