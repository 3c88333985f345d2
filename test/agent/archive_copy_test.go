package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// TestArchiveOfACopy copies the volume of a cluster, its incarnation included, and has both go on and archive in one
// place. One of them is refused at the first file, keeps what it has, and puts nothing between the files of the other
// one: a restore holds what that one has.
func TestArchiveOfACopy(t *testing.T) {
	t.Parallel()
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	to := archive.Open(dir, signing(t))
	one := options{durability: protocol.Async, members: 1, engine: archiving{}}
	sites := []*site{newSite(t, one), newSite(t, one)}
	source, clone := sites[0], sites[1]
	source.wait("a primary", func() bool { return source.primary() != nil })
	p := source.awaitPrimary()
	if _, err := p.ask("dbop", time.Minute, "CREATE TABLE kept (text text)"); err != nil {
		t.Fatal(err)
	}
	backup := source.facts(p, "base")
	p.stop()
	m := clone.members[0]
	clone.wait("its agent runs", func() bool { return m.status() != nil })
	m.kill()
	if err := os.RemoveAll(m.directory); err != nil {
		t.Fatal(err)
	}
	copyTree(t, p.directory, m.directory)
	clone.ownTree(m.directory)
	p.start()
	m.start()
	write := func(s *site, name string) {
		if _, err := s.awaitPrimary().ask("dbop", time.Minute,
			fmt.Sprintf("INSERT INTO kept VALUES ('%s'); SELECT pg_switch_wal()", name)); err != nil {
			t.Error(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make([]chan error, len(sites))
	collectors := make([]*helper.Collector, len(sites))
	for i, s := range sites {
		s.wait("a primary", func() bool { return s.primary() != nil })
		write(s, fmt.Sprint("site ", i))
		collectors[i], ended[i] = s.collectorInto(t, to), make(chan error, 1)
		go func() { ended[i] <- collectors[i].Run(ctx) }()
	}
	refused := 0
	select {
	case err = <-ended[0]:
	case err = <-ended[1]:
		refused = 1
	case <-time.After(time.Minute):
		t.Fatal("both archive in one place")
	}
	if !errors.Is(err, archive.ErrConflict) {
		t.Fatalf("site %d: %v", refused, err)
	}
	t.Log(err)
	other := sites[1-refused]
	write(other, "later")
	end := time.Now()
	var w contract.LogWindow
	other.wait("the log of the other one to be archived", func() bool {
		w = other.window(t, collectors[1-refused], backup)
		return w.To.After(end)
	})
	stop()
	if err := <-ended[1-refused]; err != nil || w.Gap != "" {
		t.Errorf("the other one: %v, the window is %+v", err, w)
	}
	if files, err := sites[refused].awaitPrimary().client.LogFiles(t.Context()); err != nil || len(files.Names) == 0 {
		t.Errorf("the one that is refused keeps %v, %v", files, err)
	}
	spool := other.spool(t, collectors[1-refused])
	d := data{site: source, directory: filepath.Join(source.dir, "restored")}
	target := v1alpha1.RecoveryTarget{Time: v1alpha1.TargetLatest, Timeline: w.Timeline}
	if err := d.forward(t, "base", spool, target); err != nil {
		t.Fatal(err)
	}
	got := d.ask(t, installed(t), [2]string{"postgres", "SELECT string_agg(text, ', ' ORDER BY text) FROM kept"})
	if want := fmt.Sprintf("later, site %d", 1-refused); got[0] != want {
		t.Errorf("it holds %q, want %q", got[0], want)
	}
}
