package executor

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// plain is a formed cluster without certificates, whose members run.
func plain(t *testing.T) *opstest.Bench {
	b := opstest.NewBench(t)
	c := b.Founded(1, "id")
	c.Spec.TLS.Disabled = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	running(b, "db-1")
	return b
}

func TestMembershipIsTheEnginesBusiness(t *testing.T) {
	for want, step := range map[string]ops.Step{
		"register db-2":                   {Action: ops.ActionRegister, Members: []string{"db-2"}},
		"promote db-2":                    {Action: ops.ActionPromote, Members: []string{"db-2"}},
		"compact db-1 before 7":           {Action: ops.ActionCompact, Members: []string{"db-1"}},
		"defragment db-1":                 {Action: ops.ActionDefragment, Members: []string{"db-1"}},
		"hand over to db-2":               {Action: ops.ActionHandOver, Members: []string{"db-1"}, To: "db-2"},
		"prepare db-1,db-2 for 1.1.0":     {Action: ops.ActionPrepare, Members: []string{"db-1", "db-2"}},
		"announce the downgrade to 1.1.0": {Action: ops.ActionAnnounce},
		"withdraw the downgrade":          {Action: ops.ActionWithdraw},
	} {
		t.Run(want, func(t *testing.T) {
			b := plain(t)
			b.Op = opstest.Operation(v1alpha1.VerbCompact)
			b.Op.Spec.Compaction = &v1alpha1.Compaction{Before: 7}
			r, err := perform(b, step)
			b.Must(err)
			if diff := cmp.Diff([]string{want}, b.Database.Last().Calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if prepared := r.Facts[v1alpha1.FactPrepared]; (prepared == "1.1.0") != (step.Action == ops.ActionPrepare) {
				t.Errorf("fact prepared %q", prepared)
			}
			if len(b.Server.Writes) > 0 {
				t.Errorf("Kubernetes was written to: %v", b.Server.Writes)
			}
			if done := r.Facts[etcd.FactDefragmented("db-1")]; (done != "") != (step.Action == ops.ActionDefragment) {
				t.Errorf("fact %q", done)
			}
			if done := r.Facts[v1alpha1.FactCompacted]; (done == "7") != (step.Action == ops.ActionCompact) {
				t.Errorf("compacted %q", done)
			}
			b.Database.Model.Err = engine.ErrNotReady
			if r, err := perform(b, step); !errors.Is(err, engine.ErrNotReady) || r.Facts != nil {
				t.Errorf("the database asks to wait: %v, %v", r.Facts, err)
			}
			b.Database.Refuses = opstest.ErrStub
			if _, err := perform(b, step); !errors.Is(err, opstest.ErrStub) {
				t.Errorf("no connection: %v", err)
			}
		})
	}
}

// TestRecordFormedTrustsOnlyWhatTheBackupHeld: a restored initial member must serve it.
func TestRecordFormedTrustsOnlyWhatTheBackupHeld(t *testing.T) {
	expected := opstest.Fingerprint(3, "h")
	for name, c := range map[string]struct {
		restored bool
		proof    string
		mark     string
		got      engine.Fingerprint
		err      error
		asked    string
		kind     ops.Kind
	}{
		"a new cluster":            {false, "", "", engine.Fingerprint{}, nil, "", ""},
		"the same data":            {true, "3 keys, h", "", expected, nil, "fingerprint db-1", ""},
		"a backup without a proof": {true, "", "m", engine.Fingerprint{}, nil, "", ""},
		"a key more": {true, "3 keys, h", "", opstest.Fingerprint(4, "h"), nil, "fingerprint db-1",
			ops.NeedsHuman},
		"an initial member without a proof": {true, "3 keys, h", "", engine.Fingerprint{}, nil, "fingerprint db-1",
			ops.NeedsHuman},
		"other values": {true, "3 keys, h", "", opstest.Fingerprint(3, "x"), nil, "fingerprint db-1",
			ops.NeedsHuman},
		"an initial member that does not answer": {true, "3 keys, h", "", expected, opstest.ErrStub, "fingerprint db-1",
			ops.Failed},
		"the mark of what was loaded": {true, "3 keys, h", "m", engine.Fingerprint{}, nil, "attest db-1", ""},
		"another mark, the same data": {true, "3 keys, h", "n", expected, nil, "attest db-1 fingerprint db-1", ""},
		"another mark, other data": {true, "3 keys, h", "n", opstest.Fingerprint(3, "x"), nil,
			"attest db-1 fingerprint db-1", ops.NeedsHuman},
		"no answer about the mark": {true, "3 keys, h", "m", expected, opstest.ErrStub, "attest db-1 fingerprint db-1",
			ops.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			cluster := b.Founded(1, "")
			cluster.Spec.TLS.Disabled = true
			if c.restored {
				cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b1"}
			}
			f := cluster.Status.Bootstrap
			f.ExpectedProof, f.ExpectedMark = c.proof, c.mark
			b.Must(b.Store().UpdateCluster(t.Context(), cluster))
			b.Database.Model.Print, b.Database.Model.Err = c.got, c.err
			b.Database.Model.Mark = "m"
			l := liveOf(b)
			s := observation(b, l)
			s.View.ClusterIDs = []string{"cid"}
			_, err := l.Perform(t.Context(), s, ops.Step{Action: ops.ActionRecordFormed}, nil)
			if (err != nil) != (c.kind != "") || (err != nil && ops.KindOf(err) != c.kind) {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			if id := b.Cluster().Status.Bootstrap.ClusterID; (id == "cid") != (c.kind == "") {
				t.Errorf("recorded %q", id)
			}
			asked := ""
			if len(b.Database.Sessions) > 0 {
				asked = strings.Join(b.Database.Last().Calls, " ")
			}
			if asked != c.asked {
				t.Errorf("asked: %q, want %q", asked, c.asked)
			}
			if c.kind == ops.NeedsHuman && !strings.Contains(err.Error(), "the backup held 3 keys, h") {
				t.Errorf("the message does not compare: %v", err)
			}
		})
	}
}

func TestBeginIncarnationUnderAFreshName(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbRestore)
	b.Op.Spec.Source, b.Op.Spec.KeepRevision = &v1alpha1.BackupSource{Repository: "dir:/old", Backup: "b7"}, true
	for range 2 {
		done, err := perform(b, ops.Step{Action: ops.ActionNewIncarnation})
		b.Must(err)
		if kept := done.Facts[v1alpha1.FactKept]; kept != "db-1" {
			t.Errorf("the record names %q as kept volumes", kept)
		}
	}
	c := b.Cluster()
	if diff := cmp.Diff(&v1alpha1.Bootstrap{Token: ops.IncarnationToken(b.Op, "db-2"), Members: []string{"db-2"},
		Incarnation: 1}, c.Status.Bootstrap); diff != "" {
		t.Errorf("formation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&v1alpha1.RestoreSource{Repository: "dir:/old", Backup: "b7", KeepRevision: true},
		c.Spec.RestoreFrom); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
}

// TestChangesKeepWhatOthersWrote: the observation is old, the cluster is not.
func TestChangesKeepWhatOthersWrote(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(1, "")
	l := liveOf(b)
	s := observation(b, l)
	s.View.ClusterIDs = []string{"cid"}
	c := b.Cluster()
	c.Spec.Paused = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	if _, err := l.Perform(t.Context(), s, ops.Step{Action: ops.ActionRecordFormed}, nil); err != nil {
		t.Fatal(err)
	}
	if c := b.Cluster(); !c.Spec.Paused || c.Status.Bootstrap.ClusterID != "cid" {
		t.Errorf("cluster %+v %+v", c.Spec, c.Status.Bootstrap)
	}
	if _, err := l.Perform(t.Context(), s, ops.Step{Action: ops.ActionForget}, nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("a cluster that changed was forgotten: %v", err)
	}
}
