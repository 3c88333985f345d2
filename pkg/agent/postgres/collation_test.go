//go:build linux

package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestCollations: what another library orders in another way is told, until a person has mended it.
func TestCollations(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m.Serve(1, 2, protocol.SyncSet{Version: 1})
	// measured is what it says when it was asked again.
	measured := func() []string {
		t.Helper()
		m.mu.Lock()
		m.orders.due = time.Time{}
		m.mu.Unlock()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
			got, err := m.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m.mu.Lock()
			answered := !m.orders.due.IsZero()
			m.mu.Unlock()
			if answered {
				return got.Warnings
			}
		}
		t.Fatal("it did not answer")
		return nil
	}
	// A server that is slow says it later.
	warned := func(want ...string) {
		t.Helper()
		got := measured()
		for deadline := time.Now().Add(30 * time.Second); len(got) != len(want) && time.Now().Before(deadline); {
			got = measured()
		}
		all := strings.Join(got, "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%q does not tell %q", all, w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("it warns of %q, want %d", got, len(want))
		}
	}
	m.sql(`CREATE DATABASE "my shop" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'und'`)
	m.sql("CREATE TABLE words (word text COLLATE \"de-x-icu\")")
	m.sql("UPDATE pg_collation SET collversion = '1' WHERE collname = 'de-x-icu'")
	warned() // no index has that order
	m.sql("CREATE INDEX ON words (word)")
	m.sql("UPDATE pg_database SET datcollversion = '1' WHERE datname = 'my shop'")
	warned(`indexes of the database "my shop" may be wrong: version 1 of a library`,
		`indexes of the database "postgres" with the collations "de-x-icu" may be wrong`)
	m.sql(`ALTER DATABASE "my shop" REFRESH COLLATION VERSION`)
	m.sql(`ALTER COLLATION "de-x-icu" REFRESH VERSION`)
	warned()
	m.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'words_word_idx'::regclass")
	warned(`of the database "postgres" could not be made, and no query takes them; REINDEX INDEX public.words_word_idx ends`)
	m.sql("REINDEX INDEX words_word_idx")
	warned()
}
