package kube

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func scheduleInput(c *v1alpha1.DatabaseCluster) ScheduleInput {
	policy := v1alpha1.BackupPolicy{Repository: "pvc:backups/etcd", Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Keep: 7}
	c.Spec.Backup = policy
	return ScheduleInput{Cluster: c, Policy: policy, Claim: "backups", SubPath: "etcd", Image: "example.com/dbop:v1", Since: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)}
}

func TestBuildSchedule(t *testing.T) {
	t.Parallel()
	objects, err := BuildSchedule(scheduleInput(testCluster()))
	if err != nil || len(objects) != scheduleParts {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	golden(t, "schedule", objects)
}

// TestScheduleMayDoLittle: rights that a backup must never have.
func TestScheduleMayDoLittle(t *testing.T) {
	t.Parallel()
	for _, r := range scheduleRules(testCluster()) {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				switch {
				case resource == "secrets" && (verb != "get" || len(r.ResourceNames) == 0),
					resource == "pods" && verb != "get" && verb != "list" && verb != "watch",
					resource == "databaseclusters", verb == "*", resource == "*":
					t.Errorf("it may %s %s %v", verb, resource, r.ResourceNames)
				}
			}
		}
	}
}

// made is a client with the objects of a schedule.
func made(t *testing.T, without string) (*Client, client.Client, *v1alpha1.DatabaseCluster) {
	t.Helper()
	cluster := testCluster()
	objects, err := BuildSchedule(scheduleInput(cluster))
	if err != nil {
		t.Fatal(err)
	}
	var stored []client.Object
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind != without {
			stored = append(stored, o)
		}
	}
	c, api := newFake(t, interceptor.Funcs{}, stored...)
	return c, api, cluster
}

func TestScheduleFacts(t *testing.T) {
	t.Parallel()
	begun, ended := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(1060, 0))
	for name, row := range map[string]struct {
		without string
		parts   bool
		change  func(*batchv1.CronJob, *rbacv1.Role)
		missing []string
		want    func(*Schedule) bool
	}{
		"all there":                  {parts: true, want: func(s *Schedule) bool { return s.Exists() && s.Policy.Keep == 7 && s.Image == "example.com/dbop:v1" }},
		"only the CronJob looked at": {without: "Role", want: func(s *Schedule) bool { return s.Exists() }},
		"the role is gone":           {without: "Role", parts: true, missing: []string{"Role"}},
		"the role grants too little": {parts: true, missing: []string{"Role"}, change: func(_ *batchv1.CronJob, r *rbacv1.Role) { r.Rules = r.Rules[1:] }},
		"the CronJob is gone":        {without: "CronJob", parts: true, missing: []string{"CronJob"}, want: func(s *Schedule) bool { return !s.Exists() }},
		"somebody's hand": {change: func(j *batchv1.CronJob, _ *rbacv1.Role) { j.Spec.Schedule, j.Spec.Suspend = "1 1 1 1 1", new(true) },
			want: func(s *Schedule) bool { return s.Suspended && s.Policy.Schedule == "1 1 1 1 1" }},
		"a run that ended": {change: func(j *batchv1.CronJob, _ *rbacv1.Role) {
			j.Status.LastScheduleTime, j.Status.LastSuccessfulTime = &begun, &ended
		}, want: func(s *Schedule) bool {
			return s.LastBegun.Equal(begun.Time) && s.LastDone.Equal(ended.Time) && !s.Running
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api, cluster := made(t, row.without)
			if row.change != nil {
				key := client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.Schedule(cluster.Name)}
				job, role := &batchv1.CronJob{}, &rbacv1.Role{}
				for _, o := range []client.Object{job, role} {
					if err := api.Get(t.Context(), key, o); err != nil {
						t.Fatal(err)
					}
				}
				row.change(job, role)
				status := job.DeepCopy()
				for _, o := range []client.Object{job, role} {
					if err := api.Update(t.Context(), o); err != nil {
						t.Fatal(err)
					}
				}
				status.ResourceVersion = job.ResourceVersion
				if err := api.Status().Update(t.Context(), status); err != nil {
					t.Fatal(err)
				}
			}
			got, err := c.ScheduleFacts(t.Context(), cluster, row.parts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.missing, got.Missing); diff != "" {
				t.Error(diff)
			}
			if row.want != nil && !row.want(got) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestDeleteScheduleTakesAll(t *testing.T) {
	t.Parallel()
	c, _, cluster := made(t, "RoleBinding") // a removal that died half-way
	for range 2 {
		if err := c.DeleteSchedule(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.ScheduleFacts(t.Context(), cluster, true)
	if err != nil || len(got.Present) > 0 {
		t.Errorf("%v is left, %v", got, err)
	}
}

// TestDeletedClusterBeginsNoBackups: the CronJob must not outlive what it backs up.
func TestDeletedClusterBeginsNoBackups(t *testing.T) {
	t.Parallel()
	c, _, cluster := made(t, "")
	if err := c.DeleteClusterObjects(context.WithoutCancel(t.Context()), cluster); err != nil {
		t.Fatal(err)
	}
	got, err := c.ScheduleFacts(t.Context(), cluster, false)
	if err != nil || got.Exists() {
		t.Errorf("%v is left, %v", got, err)
	}
}
