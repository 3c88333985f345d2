package ops

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// plain is a formed cluster without certificates, whose members run.
func plain(t *testing.T) *bench {
	b := newBench(t)
	c := b.founded(1, "id")
	c.Spec.TLS.Disabled = true
	b.must(b.store().UpdateCluster(t.Context(), c))
	b.running("db-1")
	return b
}

func TestMembershipIsTheEnginesBusiness(t *testing.T) {
	for want, step := range map[string]Step{
		"register db-2":                   {Action: ActionRegister, Members: []string{"db-2"}},
		"promote db-2":                    {Action: ActionPromote, Members: []string{"db-2"}},
		"compact db-1 before 7":           {Action: ActionCompact, Members: []string{"db-1"}},
		"defragment db-1":                 {Action: ActionDefragment, Members: []string{"db-1"}},
		"hand over to db-2":               {Action: ActionHandOver, Members: []string{"db-1"}, To: "db-2"},
		"prepare db-1,db-2 for 1.1.0":     {Action: ActionPrepare, Members: []string{"db-1", "db-2"}},
		"announce the downgrade to 1.1.0": {Action: ActionAnnounce},
		"withdraw the downgrade":          {Action: ActionWithdraw},
	} {
		t.Run(want, func(t *testing.T) {
			b := plain(t)
			b.op = operation(v1alpha1.VerbCompact)
			b.op.Spec.Compaction = &v1alpha1.Compaction{Before: 7}
			r, err := b.perform(step)
			b.must(err)
			if diff := cmp.Diff([]string{want}, b.database.last().calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if prepared := r.Facts[v1alpha1.FactPrepared]; (prepared == "1.1.0") != (step.Action == ActionPrepare) {
				t.Errorf("fact prepared %q", prepared)
			}
			if len(b.server.writes) > 0 {
				t.Errorf("Kubernetes was written to: %v", b.server.writes)
			}
			if done := r.Facts[factDefragmented("db-1")]; (done != "") != (step.Action == ActionDefragment) {
				t.Errorf("fact %q", done)
			}
			if done := r.Facts[v1alpha1.FactCompacted]; (done == "7") != (step.Action == ActionCompact) {
				t.Errorf("compacted %q", done)
			}
			b.database.model.err = engine.ErrNotReady
			if r, err := b.perform(step); !errors.Is(err, engine.ErrNotReady) || r.Facts != nil {
				t.Errorf("the database asks to wait: %v, %v", r.Facts, err)
			}
			b.database.refuses = errStub
			if _, err := b.perform(step); !errors.Is(err, errStub) {
				t.Errorf("no connection: %v", err)
			}
		})
	}
}

// TestRecordFormedTrustsOnlyWhatTheBackupHeld: a restored founder must serve it.
func TestRecordFormedTrustsOnlyWhatTheBackupHeld(t *testing.T) {
	expected := engine.Fingerprint{Revision: 99, Keys: 3, Hash: "h"}
	for name, c := range map[string]struct {
		restored bool
		hash     string
		mark     string
		got      engine.Fingerprint
		err      error
		asked    string
		kind     Kind
	}{
		"a new cluster":                  {false, "", "", engine.Fingerprint{}, nil, "", ""},
		"the same data":                  {true, "h", "", expected, nil, "fingerprint db-1", ""},
		"a backup without a hash":        {true, "", "m", engine.Fingerprint{}, nil, "", ""},
		"a key more":                     {true, "h", "", engine.Fingerprint{Keys: 4, Hash: "h"}, nil, "fingerprint db-1", NeedsHuman},
		"other values":                   {true, "h", "", engine.Fingerprint{Keys: 3, Hash: "x"}, nil, "fingerprint db-1", NeedsHuman},
		"a founder that does not answer": {true, "h", "", expected, errStub, "fingerprint db-1", Failed},
		"the mark of what was loaded":    {true, "h", "m", engine.Fingerprint{}, nil, "attest db-1", ""},
		"another mark, the same data":    {true, "h", "n", expected, nil, "attest db-1 fingerprint db-1", ""},
		"another mark, other data":       {true, "h", "n", engine.Fingerprint{Keys: 3, Hash: "x"}, nil, "attest db-1 fingerprint db-1", NeedsHuman},
		"no answer about the mark":       {true, "h", "m", expected, errStub, "attest db-1 fingerprint db-1", Failed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cluster := b.founded(1, "")
			cluster.Spec.TLS.Disabled = true
			if c.restored {
				cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b1"}
			}
			f := cluster.Status.Formation
			f.ExpectedKeys, f.ExpectedHash, f.ExpectedMark = 3, c.hash, c.mark
			b.must(b.store().UpdateCluster(t.Context(), cluster))
			b.database.model.fingerprint, b.database.model.err = c.got, c.err
			b.database.model.mark = "m"
			l := b.live()
			s := b.observe(l)
			s.View.ClusterIDs = []string{"cid"}
			_, err := l.Perform(t.Context(), s, Step{Action: ActionRecordFormed}, nil)
			if (err != nil) != (c.kind != "") || (err != nil && KindOf(err) != c.kind) {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			if id := b.cluster().Status.Formation.ClusterID; (id == "cid") != (c.kind == "") {
				t.Errorf("recorded %q", id)
			}
			asked := ""
			if len(b.database.sessions) > 0 {
				asked = strings.Join(b.database.last().calls, " ")
			}
			if asked != c.asked {
				t.Errorf("asked: %q, want %q", asked, c.asked)
			}
			if c.kind == NeedsHuman && !strings.Contains(err.Error(), "the backup held 3 (h)") {
				t.Errorf("the message does not compare: %v", err)
			}
		})
	}
}

func TestBeginEpochFoundsUnderAFreshName(t *testing.T) {
	b := plain(t)
	b.op = operation(v1alpha1.VerbRestore)
	b.op.Spec.Source, b.op.Spec.KeepRevision = &v1alpha1.BackupSource{Repository: "dir:/old", Backup: "b7"}, true
	for range 2 {
		done, err := b.perform(Step{Action: ActionNewEpoch})
		b.must(err)
		if kept := done.Facts[v1alpha1.FactKept]; kept != "db-1" {
			t.Errorf("the record names %q as kept volumes", kept)
		}
	}
	c := b.cluster()
	if diff := cmp.Diff(&v1alpha1.Formation{Token: EpochToken(b.op), Members: []string{"db-2"}, Epoch: 1}, c.Status.Formation); diff != "" {
		t.Errorf("formation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&v1alpha1.RestoreSource{Repository: "dir:/old", Backup: "b7", KeepRevision: true}, c.Spec.RestoreFrom); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
}

// TestChangesKeepWhatOthersWrote: the look is old, the cluster is not.
func TestChangesKeepWhatOthersWrote(t *testing.T) {
	b := newBench(t)
	b.founded(1, "")
	l := b.live()
	s := b.observe(l)
	s.View.ClusterIDs = []string{"cid"}
	c := b.cluster()
	c.Spec.Paused = true
	b.must(b.store().UpdateCluster(t.Context(), c))
	if _, err := l.Perform(t.Context(), s, Step{Action: ActionRecordFormed}, nil); err != nil {
		t.Fatal(err)
	}
	if c := b.cluster(); !c.Spec.Paused || c.Status.Formation.ClusterID != "cid" {
		t.Errorf("cluster %+v %+v", c.Spec, c.Status.Formation)
	}
	if _, err := l.Perform(t.Context(), s, Step{Action: ActionForget}, nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("a cluster that changed was forgotten: %v", err)
	}
}
