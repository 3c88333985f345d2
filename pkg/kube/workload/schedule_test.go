package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func scheduleInput(c *v1alpha1.DatabaseCluster) ScheduleInput {
	policy := v1alpha1.BackupPolicy{Repository: "pvc:backups/etcd", Schedule: "0 2 * * *", TimeZone: "Europe/Berlin",
		Retention: v1alpha1.Retention{Keep: 7}}
	c.Spec.Backup = policy
	return ScheduleInput{Cluster: c, Policy: policy, Claim: "backups", SubPath: "etcd", Image: "example.com/dbop:v1",
		Since: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)}
}

func TestBuildSchedule(t *testing.T) {
	t.Parallel()
	objects, err := BuildSchedule(scheduleInput(kubetest.Cluster()))
	if err != nil || len(objects) != scheduleParts {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	kubetest.Golden(t, "schedule", objects)
}

// TestScheduleMayDoLittle: rights that a backup must never have.
func TestScheduleMayDoLittle(t *testing.T) {
	t.Parallel()
	for _, r := range scheduleRules(kubetest.Cluster()) {
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

// TestVerifyingSchedule: only a schedule that verifies may make pods, and its command says what it is asked for.
func TestVerifyingSchedule(t *testing.T) {
	t.Parallel()
	in := scheduleInput(kubetest.Cluster())
	in.Policy.Retention = v1alpha1.Retention{KeepFor: "7d", KeepWeekly: 4}
	in.Policy.Verify, in.Policy.Full = v1alpha1.Weekly, v1alpha1.Monthly
	in.Cluster.Spec.Backup = in.Policy
	objects, err := BuildSchedule(in)
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Golden(t, "schedule-verify", objects)
}

// TestScheduleOnNamedClaim: its pod mounts the claim of the repository, beside the description and keys.
func TestScheduleOnNamedClaim(t *testing.T) {
	t.Parallel()
	in := scheduleInput(kubetest.Cluster())
	in.Policy.Repository, in.Claim, in.SubPath = "offsite", "", ""
	in.Named = &NamedRepository{Files: EmptyDir("repository"), Staging: EmptyDir("staging"), Claim: "backups",
		ClaimPath: "/claim", SameNode: "backups"}
	objects, err := BuildSchedule(in)
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Golden(t, "schedule-claim", objects[scheduleParts-1:])
}

// made is a client with the objects of a schedule.
func made(t *testing.T, without string) (*kube.Client, client.Client, *v1alpha1.DatabaseCluster) {
	t.Helper()
	cluster := kubetest.Cluster()
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
	c, api := kubetest.New(t, interceptor.Funcs{}, stored...)
	return c, api, cluster
}

func TestScheduleFacts(t *testing.T) {
	t.Parallel()
	started, ended := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(1060, 0))
	for name, row := range map[string]struct {
		without string
		parts   bool
		change  func(*batchv1.CronJob, *rbacv1.Role)
		missing []string
		want    func(*Schedule) bool
	}{
		"all there": {parts: true, want: func(s *Schedule) bool {
			return s.Exists() && s.Policy.Keep == 7 &&
				s.Image == "example.com/dbop:v1"
		}},
		"only the CronJob read": {without: "Role", want: func(s *Schedule) bool { return s.Exists() }},
		"the role is gone":      {without: "Role", parts: true, missing: []string{"Role"}},
		"the role grants too little": {parts: true, missing: []string{"Role"}, change: func(_ *batchv1.CronJob,
			r *rbacv1.Role) {
			r.Rules = r.Rules[1:]
		}},
		"the CronJob is gone": {without: "CronJob", parts: true, missing: []string{"CronJob"},
			want: func(s *Schedule) bool { return !s.Exists() }},
		"somebody's hand": {change: func(j *batchv1.CronJob, _ *rbacv1.Role) {
			j.Spec.Schedule, j.Spec.Suspend = "1 1 1 1 1",
				new(true)
		},
			want: func(s *Schedule) bool { return s.Suspended && s.Policy.Schedule == "1 1 1 1 1" }},
		"a run that ended": {change: func(j *batchv1.CronJob, _ *rbacv1.Role) {
			j.Status.LastScheduleTime, j.Status.LastSuccessfulTime = &started, &ended
		}, want: func(s *Schedule) bool {
			return s.LastStarted.Equal(started.Time) && s.LastDone.Equal(ended.Time) && !s.Running
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
			got, _, err := ReadSchedule(t.Context(), c, ScheduleInput{Cluster: cluster}, row.parts)
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
		if err := DeleteSchedule(t.Context(), c, cluster); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := ReadSchedule(t.Context(), c, ScheduleInput{Cluster: cluster}, true)
	if err != nil || len(got.Present) > 0 {
		t.Errorf("%v is left, %v", got, err)
	}
}

// TestDeletedClusterBeginsNoBackups: the CronJob must not outlive what it backs up.
func TestDeletedClusterBeginsNoBackups(t *testing.T) {
	t.Parallel()
	c, _, cluster := made(t, "")
	if err := DeleteClusterObjects(context.WithoutCancel(t.Context()), c, cluster); err != nil {
		t.Fatal(err)
	}
	got, _, err := ReadSchedule(t.Context(), c, ScheduleInput{Cluster: cluster}, false)
	if err != nil || got.Exists() {
		t.Errorf("%v is left, %v", got, err)
	}
}

// rolesStay refuses to change the role of a binding, as the API server does.
func rolesStay(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration,
	opts ...client.ApplyOption) error {
	have := &rbacv1.RoleBinding{}
	err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "db-backup"}, have)
	if u, ok := o.(interface{ GetKind() string }); ok && u.GetKind() == "RoleBinding" && err == nil &&
		have.RoleRef.Name != "db-backup" {
		return errors.New("roleRef: Invalid value: cannot change roleRef")
	}
	return c.Apply(ctx, o, opts...)
}

// TestScheduleDifferences: whatever somebody changes of a schedule is found, and
// making it again puts it back.
func TestScheduleDifferences(t *testing.T) {
	t.Parallel()
	job := func(change func(*batchv1.CronJob)) func(client.Object) {
		return func(o client.Object) { change(o.(*batchv1.CronJob)) }
	}
	container := func(j *batchv1.CronJob) *corev1.Container {
		return &j.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	}
	const pod = "spec.jobTemplate.spec.template.spec."
	for name, row := range map[string]struct {
		object client.Object
		change func(client.Object)
		want   []string
	}{
		"nothing": {&batchv1.CronJob{}, func(client.Object) {}, nil},
		"its label": {&rbacv1.Role{}, func(o client.Object) { o.SetLabels(nil) }, []string{"role/db-backup Edited " +
			"metadata.labels"}},
		"an owner": {&rbacv1.RoleBinding{}, func(o client.Object) {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Pod", Name: "x", UID: "x", APIVersion: "v1"}})
		}, []string{"rolebinding/db-backup Owner metadata.ownerReferences"}},
		"a finalizer": {&corev1.ServiceAccount{}, func(o client.Object) { o.SetFinalizers([]string{"example.com/keep"}) },
			[]string{"serviceaccount/db-backup Finalizer metadata.finalizers"}},
		"its token": {&corev1.ServiceAccount{},
			func(o client.Object) { o.(*corev1.ServiceAccount).AutomountServiceAccountToken = new(true) },
			[]string{"serviceaccount/db-backup Edited automountServiceAccountToken"}},
		"more rules": {&rbacv1.Role{}, func(o client.Object) {
			r := o.(*rbacv1.Role)
			r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"},
				Verbs: []string{"*"}})
		}, []string{"role/db-backup Edited rules"}},
		"a rule for one name alone": {&rbacv1.Role{},
			func(o client.Object) { o.(*rbacv1.Role).Rules[1].ResourceNames = []string{"x"} },
			[]string{"role/db-backup Edited rules"}},
		"another subject": {&rbacv1.RoleBinding{}, func(o client.Object) {
			b := o.(*rbacv1.RoleBinding)
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "eve"})
		}, []string{"rolebinding/db-backup Edited subjects"}},
		"another role": {&rbacv1.RoleBinding{}, func(o client.Object) { o.(*rbacv1.RoleBinding).RoleRef.Name = "other" },
			[]string{"rolebinding/db-backup Edited roleRef"}},
		"the schedule": {&batchv1.CronJob{}, job(func(j *batchv1.CronJob) { j.Spec.Schedule = "1 1 1 1 1" }),
			[]string{"cronjob/db-backup Edited spec.schedule"}},
		"the command": {&batchv1.CronJob{}, job(func(j *batchv1.CronJob) { container(j).Args = []string{"delete"} }),
			[]string{"cronjob/db-backup Edited " + pod + "containers[backup].args"}},
		"the image": {&batchv1.CronJob{}, job(func(j *batchv1.CronJob) { container(j).Image = "bad" }),
			[]string{"cronjob/db-backup Added " + pod + "containers[backup].image"}},
		"the account": {&batchv1.CronJob{},
			job(func(j *batchv1.CronJob) { j.Spec.JobTemplate.Spec.Template.Spec.ServiceAccountName = "admin" }),
			[]string{"cronjob/db-backup Edited " + pod + "serviceAccountName"}},
		"a variable": {&batchv1.CronJob{}, job(func(j *batchv1.CronJob) {
			container(j).Env = append(container(j).Env, corev1.EnvVar{Name: "X", Value: "y"})
		}), []string{"cronjob/db-backup Added " + pod + "containers[backup].env[X]"}},
		"a container": {&batchv1.CronJob{}, job(func(j *batchv1.CronJob) {
			spec := &j.Spec.JobTemplate.Spec.Template.Spec
			spec.Containers = append(spec.Containers, corev1.Container{Name: "side", Image: "bad"})
		}), []string{"cronjob/db-backup Added " + pod + "containers[side]"}},
		"suspended, which is told of the backups": {&batchv1.CronJob{},
			job(func(j *batchv1.CronJob) { j.Spec.Suspend = new(true) }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := kubetest.Cluster()
			in := scheduleInput(cluster)
			scheme, err := kube.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().Build()
			c := kube.Wrap(interceptor.NewClient(api, interceptor.Funcs{Apply: rolesStay}), kube.Options{})
			if err := ApplySchedule(t.Context(), c, in, false); err != nil {
				t.Fatal(err)
			}
			key := client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.Schedule(cluster.Name)}
			if err := api.Get(t.Context(), key, row.object); err != nil {
				t.Fatal(err)
			}
			row.change(row.object)
			if err := api.Update(t.Context(), row.object, client.FieldOwner("kubectl-edit")); err != nil {
				t.Fatal(err)
			}
			found := func() (out []string) {
				t.Helper()
				_, all, err := ReadSchedule(t.Context(), c, in, true)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range all {
					if !strings.HasPrefix(d.Field, "metadata.labels.app.kubernetes.io") {
						out = append(out, fmt.Sprintf("%s %s %s", d.Object, d.Kind, d.Field))
					}
				}
				return out
			}
			if diff := cmp.Diff(row.want, found()); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if err := ApplySchedule(t.Context(), c, in, false); err != nil {
				t.Fatal(err)
			}
			if left := found(); len(left) > 0 {
				t.Errorf("%v is left after it was made again", left)
			}
		})
	}
}
