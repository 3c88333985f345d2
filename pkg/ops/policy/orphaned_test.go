package policy

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// deletedNow is a custom resource that this process saw being deleted.
func deletedNow(g *Input) { g.Deleted, g.Custom = g.Custom, nil }

// deletedAndConfirmed is one of which that was written down, and forgotten by the process.
func deletedAndConfirmed(g *Input) {
	ConfirmDeletion(g.Record, g.Custom, opstest.Now())
	g.Custom = nil
}

func TestOrphaned(t *testing.T) {
	t.Parallel()
	deleting := func(by string) *v1alpha1.Operation {
		op := opstest.Operation(v1alpha1.VerbDelete)
		op.Spec.RequestedBy, op.Spec.Repository = by, "pvc:backups"
		return op
	}
	managed := func(label, value string) func(*Input) {
		return func(g *Input) {
			g.Custom.Labels = map[string]string{label: value}
			deletedNow(g)
		}
	}
	const refused = "rest refused by custom-resource-missing"
	for _, row := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"missing", func(g *Input) { g.Custom = nil }, refused},
		{"missing, with an operation in flight", func(g *Input) {
			g.Custom, g.Active = nil,
				opstest.Operation(v1alpha1.VerbRestart)
		}, refused},
		{"missing, and paused", func(g *Input) { g.Custom, g.Record.Spec.Paused = nil, true }, refused},
		{"missing, and restored with a deletion in flight", func(g *Input) {
			g.Custom, g.Active = nil,
				deleting(planner.DesiredBy)
		}, refused},
		{"missing, and a person deletes", func(g *Input) { g.Custom, g.Active = nil, deleting("ada") }, "rest "},
		{"seen being deleted", deletedNow, "confirm "},
		{"seen, while something else went on",
			func(g *Input) { deletedNow(g); g.Active = opstest.Operation(v1alpha1.VerbScale) }, "confirm "},
		{"seen, and a person deletes", func(g *Input) { deletedNow(g); g.Active = deleting("ada") }, "rest "},
		{"seen, while the definition goes", func(g *Input) { deletedNow(g); g.Definition = "" }, refused},
		{"seen, and the definition is another one", func(g *Input) { deletedNow(g); g.Definition = "other" }, refused},
		{"seen, and the definition was never known", func(g *Input) {
			deletedNow(g)
			g.Definition = ""
			delete(g.Record.Annotations, v1alpha1.AnnotationDefinition)
		}, refused},
		{"seen, but paused", func(g *Input) { g.Custom.Spec.Paused = true; deletedNow(g) }, refused},
		{"seen, but the record is paused", func(g *Input) { g.Record.Spec.Paused = true; deletedNow(g) }, refused},
		{"seen, and Argo CD manages it", managed("argocd.argoproj.io/instance", "shop"), refused},
		{"seen, and Argo CD manages it by its old label", managed("app.kubernetes.io/instance", "shop"), refused},
		{"seen, and Flux manages it", managed("kustomize.toolkit.fluxcd.io/name", "shop"), refused},
		{"seen, and Flux installed its chart", managed("helm.toolkit.fluxcd.io/name", "shop"), refused},
		{"seen, and Helm manages it", managed("app.kubernetes.io/managed-by", "Helm"), refused},
		{"seen, and Helm manages it by an annotation", func(g *Input) {
			g.Custom.Annotations = map[string]string{"meta.helm.sh/release-name": "shop"}
			deletedNow(g)
		}, refused},
		{"seen, and another object owns it", func(g *Input) {
			g.Custom.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "shop"}}
			deletedNow(g)
		}, refused},
		{"seen, with labels of a person", managed("team", "shop"), "confirm "},
		{"seen, managed, and confirmed", func(g *Input) {
			g.Custom.Annotations = map[string]string{v1alpha1.AnnotationConfirmDeletion: "db"}
			managed("argocd.argoproj.io/instance", "shop")(g)
		}, "confirm "},
		{"seen, managed, and confirmed for another name", func(g *Input) {
			g.Custom.Annotations = map[string]string{v1alpha1.AnnotationConfirmDeletion: "other"}
			managed("argocd.argoproj.io/instance", "shop")(g)
		}, refused},
		{"written down", deletedAndConfirmed, "delete "},
		{"written down, and it goes already",
			func(g *Input) { deletedAndConfirmed(g); g.Active = deleting(planner.DesiredBy) }, "continue "},
		{"written down, and the definition goes since", func(g *Input) { deletedAndConfirmed(g); g.Definition = "" },
			"delete "},
		{"written down, and paused since", func(g *Input) { deletedAndConfirmed(g); g.Record.Spec.Paused = true }, "rest "},
		{"written down in a record that was copied", func(g *Input) { deletedAndConfirmed(g); g.Record.UID = "copy" },
			refused},
		{"written down in a record that was copied with its deletion", func(g *Input) {
			deletedAndConfirmed(g)
			g.Record.UID, g.Active = "copy", deleting(planner.DesiredBy)
		}, refused},
		{"written down of an earlier object", func(g *Input) {
			ConfirmDeletion(g.Record, g.Custom, opstest.Now())
			g.Custom.UID = "second"
			Link(g.Record, g.Custom, "definition")
			g.Custom = nil
		}, refused},
		{"written down, with a last backup to nowhere", func(g *Input) {
			g.Custom.Spec.DeletionPolicy = v1alpha1.DeletionBackup
			deletedAndConfirmed(g)
		}, "rest refused by repository"},
		{"applied again while it goes", func(g *Input) {
			ConfirmDeletion(g.Record, g.Custom, opstest.Now())
			g.Active = deleting(planner.DesiredBy)
		}, "continue "},
		{"a copied record whose object is there, with its deletion in flight",
			func(g *Input) { g.Active = deleting(planner.DesiredBy) }, refused},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := charged()
			row.change(&g)
			m, err := Next(g)
			if got := told(m, err); got != row.want {
				t.Errorf("%q, want %q (%v)", got, row.want, err)
			}
		})
	}
}

// TestOrphanedSaysWhatToType: a person who meets a missing object has three ways on.
func TestOrphanedSaysWhatToType(t *testing.T) {
	t.Parallel()
	g := charged()
	g.Custom = nil
	_, err := Next(g)
	e, ok := errors.AsType[*ops.Error](err)
	if !ok || ops.KindOf(err) != ops.NeedsHuman {
		t.Fatal(err)
	}
	for _, want := range []string{"apply the object again", "kubectl dbop operator release db",
		"kubectl dbop delete db"} {
		if !strings.Contains(e.Hint, want) {
			t.Errorf("%q is not in %q", want, e.Hint)
		}
	}
}

// TestConfirmDeletionKeepsTheLastWord: a person who changed what becomes of the data, and
// deleted the object before the operator took notice, has it as they said last.
func TestConfirmDeletionKeepsTheLastWord(t *testing.T) {
	t.Parallel()
	g := charged()
	g.Record.Spec.DeletionPolicy, g.Custom.Spec.DeletionPolicy = v1alpha1.DeletionPurge, v1alpha1.DeletionKeep
	deletedAndConfirmed(&g)
	m, err := Next(g)
	if err != nil || m.Request == nil || m.Request.Operation.Purge {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRequestEnd: what becomes of the data is as it was said while the object existed.
func TestRequestEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		policy        v1alpha1.DeletionPolicy
		repository    string
		backup, purge bool
	}{
		{"", "", false, false},
		{"", "pvc:backups", true, false},
		{v1alpha1.DeletionBackup, "pvc:backups", true, false},
		{v1alpha1.DeletionKeep, "pvc:backups", false, false},
		{v1alpha1.DeletionPurge, "pvc:backups", false, true},
	} {
		g := charged()
		g.Custom.Spec.DeletionPolicy, g.Custom.Spec.Backup.Repository = row.policy, row.repository
		deletedAndConfirmed(&g)
		m, err := Next(g)
		if err != nil || m.Request == nil {
			t.Fatalf("%+v: %v", row, err)
		}
		o := m.Request.Operation
		if o.Purge != row.purge || (len(o.Waive) == 0) != row.backup || (o.Repository != "") != row.backup {
			t.Errorf("%+v: %+v", row, o)
		}
	}
}

// TestStatusTellsOfAMissingObject: a healthy database is not all that counts.
func TestStatusTellsOfAMissingObject(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Orphaned = true
	v := health.Assess(opstest.Stub{}, s, planner.Verbs())
	if v.Level != health.Degraded || v.Database != health.Healthy || len(v.Problems) == 0 || len(v.Next) == 0 {
		t.Fatalf("%+v", v)
	}
	if !strings.Contains(v.Problems[0], "databasecluster db is missing") ||
		v.Next[0] != "kubectl dbop operator release db" {
		t.Errorf("%+v", v)
	}
}
