package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestLostPassword: the command that is named for a password that is gone, or
// whose secret is empty, makes it again, and repair leaves it alone.
func TestLostPassword(t *testing.T) {
	for _, emptied := range []bool{false, true} {
		b := plain(t)
		c := b.Cluster()
		c.Spec.Auth.Enabled = true
		b.Must(b.Store().UpdateCluster(t.Context(), c))
		b.Op = opstest.Operation(v1alpha1.VerbEnableAuth)
		_, err := perform(b, ops.Step{Action: ops.ActionCredentials})
		b.Must(err)
		b.Op = nil
		if found := secretFindings(b); len(found) > 0 {
			t.Fatalf("before: %+v", found)
		}
		secret := v1alpha1.PasswordSecret("db", v1alpha1.ApplicationUser)
		if emptied {
			opstest.Edit(b, &corev1.Secret{}, secret, func(s *corev1.Secret) { s.Data = nil })
		} else {
			s := &corev1.Secret{}
			b.Exists(s, secret)
			b.Must(b.Server.Raw.Delete(t.Context(), s))
		}
		found := secretFindings(b)
		if len(found) != 1 || found[0].Severity != ops.Fail || found[0].Remedy[0] != "kubectl dbop user rotate db client" {
			t.Fatalf("findings %+v", found)
		}
		s := observation(b, liveOf(b))
		s.Operation = opstest.Operation(v1alpha1.VerbRepair)
		if d := planner.For(opstest.Stub{},
			s).PutBack(func(d drift.Difference) bool { return health.KindOf(d) == health.KindSecret }); d != nil {
			t.Errorf("repair would %+v", d.Step)
		}
		b.Op = opstest.Operation(v1alpha1.VerbRotateCredentials)
		_, err = perform(b, ops.Step{Action: ops.ActionRotate, User: v1alpha1.ApplicationUser})
		b.Must(err)
		b.Op = nil
		if found := secretFindings(b); len(found) > 0 {
			t.Errorf("after: %+v", found)
		}
	}
}

// secretFindings are the findings about secrets; a bench has no services.
func secretFindings(b *opstest.Bench) []ops.Finding {
	b.T.Helper()
	return slices.DeleteFunc(health.Altered(observation(b, liveOf(b))),
		func(f ops.Finding) bool { return !strings.HasPrefix(f.Subject, health.KindSecret+"/") })
}

// TestRepairSchedule: what a schedule acts with is made again.
func TestRepairSchedule(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Cluster.ResourceVersion = "1"
	s.Cluster.Spec.Backup = v1alpha1.BackupPolicy{Repository: "pvc:backups", Schedule: "0 3 * * *"}
	s.Kube.Schedule = &workload.Schedule{Policy: s.Cluster.Spec.Backup, Missing: []string{"Role"},
		Present: []string{"CronJob"}}
	if v := health.Assess(opstest.Stub{}, s, planner.Verbs()); v.Level != health.Degraded ||
		!slices.Contains(v.Next, "kubectl dbop repair db") {
		t.Errorf("status %+v", v)
	}
	s.Operation = opstest.Operation(v1alpha1.VerbRepair)
	if diff := cmp.Diff([]string{"schedule-backups"}, opstest.IDs(planner.MakePlan(opstest.Stub{}, s))); diff != "" {
		t.Error(diff)
	}
}

// TestRepairChangedSchedule: what somebody changed of a schedule is told, and one
// step makes all of it again, asked for or not.
func TestRepairChangedSchedule(t *testing.T) {
	t.Parallel()
	s := opstest.Differs(opstest.Timed(opstest.Well(3)), opstest.Edited("role/db-backup", "", "rules"),
		opstest.Edited("cronjob/db-backup", "", "spec.jobTemplate.spec.template.spec.containers[backup].args"))
	s.Cluster.ResourceVersion, s.Kube.Schedule.Since = "1", s.Now
	missing := s
	missing.Kube.Schedule = s.Kube.Schedule.Clone()
	missing.Kube.Schedule.Missing = []string{"Role"}
	for _, s := range []ops.State{s, missing} {
		if v := health.Assess(opstest.Stub{}, s, planner.Verbs()); v.Level != health.Degraded || len(v.Problems) < 2 ||
			!slices.Equal(v.Next, []string{"kubectl dbop repair db"}) {
			t.Errorf("status %+v", v)
		}
	}
	for _, quiet := range []bool{false, true} {
		s.Operation = opstest.Operation(v1alpha1.VerbRepair)
		s.Operation.Spec.Quiet = quiet
		p := planner.MakePlan(opstest.Stub{}, s)
		if diff := cmp.Diff([]string{"schedule-backups"}, opstest.IDs(p)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([]string{"role/db-backup", "cronjob/db-backup"}, p.Steps[0].Touches); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUnexamined: what may not be read is not examined, and diagnose says so.
func TestUnexamined(t *testing.T) {
	b := opstest.NewBench(t)
	c := b.Founded(1, "id")
	c.Spec.Backup = v1alpha1.BackupPolicy{Repository: "pvc:backups", Schedule: "0 3 * * *"}
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	running(b, "db-1")
	denied := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New("no such right"))
	}
	api := b.Server.API
	b.Server.API = interceptor.NewClient(api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*corev1.SecretList); ok {
				return denied("secrets")
			}
			return c.List(ctx, l, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if _, ok := o.(*rbacv1.Role); ok || kind == "Role" || kind == "ServiceAccount" {
				return denied("roles")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	l := liveOf(b)
	ReadAll(l)
	var told []string
	for _, f := range health.Diagnose(opstest.Stub{}, observation(b, l), planner.Verbs()).Findings {
		if f.What == "not examined: there is no right to read them" {
			told = append(told, f.Subject)
		}
	}
	if diff := cmp.Diff([]string{"secrets", "roles, role bindings and service accounts"}, told); diff != "" {
		t.Error(diff)
	}
}
