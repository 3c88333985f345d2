package planner

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// rescheduling is under way to another schedule.
func rescheduling(s ops.State, p v1alpha1.BackupPolicy) ops.State {
	s.Operation = opstest.Operation(v1alpha1.VerbSchedule)
	s.Operation.Spec.Policy, s.Operation.Spec.FromPolicy = &p, new(s.Cluster.Spec.Backup)
	ApplyTo(s.Cluster, s.Operation)
	if s.Kube.Schedule == nil {
		s.Kube.Schedule = &workload.Schedule{Missing: opstest.ScheduleParts()}
	}
	return s
}

func TestDecideSchedule(t *testing.T) {
	t.Parallel()
	none := v1alpha1.BackupPolicy{Repository: "pvc:backups"}
	hourly := opstest.Nightly()
	hourly.Schedule = "0 * * * *"
	changed := func(s ops.State, change func(*ops.State)) ops.State { change(&s); return s }
	ask(t, opstest.Stub{}, []question{
		{"a first schedule", func() ops.State { return rescheduling(opstest.Well(3), opstest.Nightly()) },
			"schedule-backups"},
		{"it is there", func() ops.State { return rescheduling(opstest.Timed(opstest.Well(3)), opstest.Nightly()) }, "done"},
		{"another one", func() ops.State { return rescheduling(opstest.Timed(opstest.Well(3)), hourly) }, "schedule-backups"},
		{"none any more", func() ops.State { return rescheduling(opstest.Timed(opstest.Well(3)), none) },
			"unschedule-backups"},
		{"none any more, and only an account is left", func() ops.State {
			return changed(rescheduling(opstest.Timed(opstest.Well(3)), none),
				func(s *ops.State) { s.Kube.Schedule = &workload.Schedule{Present: opstest.ScheduleParts()[:1]} })
		}, "unschedule-backups"},
		{"none, and there is none", func() ops.State { return rescheduling(opstest.Well(3), none) }, "done"},
		{"its role is gone", func() ops.State {
			return changed(rescheduling(opstest.Timed(opstest.Well(3)), opstest.Nightly()),
				func(s *ops.State) { s.Kube.Schedule.Missing = []string{"Role"} })
		}, "schedule-backups"},
		{"its binding was changed", func() ops.State {
			return opstest.Differs(rescheduling(opstest.Timed(opstest.Well(3)), opstest.Nightly()),
				opstest.Edited("rolebinding/db-backup", "", "subjects"))
		}, "schedule-backups"},
		{"stopped, and its binding was changed, which takes more rights", func() ops.State {
			s := changed(opstest.Doing(opstest.Timed(opstest.Well(3)), opstest.Operation(v1alpha1.VerbStop), true),
				func(s *ops.State) {
					s.Cluster.Spec.Stopped, s.Kube.Schedule.Suspended = true, true
					stopped(s, []string{"db-1", "db-2", "db-3"})
				})
			return opstest.Differs(s, opstest.Edited("rolebinding/db-backup", "", "subjects"))
		}, "done"},
		{"by another image", func() ops.State {
			return changed(rescheduling(opstest.Timed(opstest.Well(3)), opstest.Nightly()),
				func(s *ops.State) { s.Operation.Spec.Image = "tool:2" })
		}, "schedule-backups"},
		{"by an image that the cluster names", func() ops.State {
			return changed(opstest.Timed(opstest.Well(3)), func(s *ops.State) { s.Cluster.Spec.HelperImage = "tool:2" })
		}, "schedule-backups"},
		{"it needs no member", func() ops.State {
			return changed(rescheduling(opstest.Well(3), opstest.Nightly()), func(s *ops.State) { opstest.NoQuorum(s) })
		}, "schedule-backups"},
		{"back to what was", func() ops.State {
			return changed(rescheduling(opstest.Timed(opstest.Well(3)), hourly), func(s *ops.State) {
				s.Kube.Schedule.Policy, s.Operation.Status.Phase = hourly, v1alpha1.PhaseCancelling
				ApplyTo(s.Cluster, s.Operation)
			})
		}, "schedule-backups"},
		{"at rest", func() ops.State { return opstest.Timed(opstest.Well(3)) }, "done"},
		{"at rest, and somebody deleted it", func() ops.State {
			return changed(opstest.Timed(opstest.Well(3)),
				func(s *ops.State) { s.Kube.Schedule = &workload.Schedule{Missing: opstest.ScheduleParts()} })
		}, "schedule-backups"},
		{"under a custom resource it was adopted by", func() ops.State {
			return changed(opstest.Timed(opstest.Well(3)),
				func(s *ops.State) { s.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"} })
		}, "schedule-backups"},
		{"no business of a scale", func() ops.State {
			return changed(opstest.Doing(opstest.Timed(opstest.Well(3)), opstest.Operation(v1alpha1.VerbScale), true),
				func(s *ops.State) { s.Kube.Schedule.Suspended = true })
		}, "done"},
		{"started again", func() ops.State {
			return changed(opstest.Doing(opstest.Timed(opstest.Well(3)), opstest.Operation(v1alpha1.VerbStart), true),
				func(s *ops.State) { s.Kube.Schedule.Suspended = true })
		}, "schedule-backups"},
		{"started, and who starts may make none", func() ops.State {
			return changed(opstest.Doing(opstest.Timed(opstest.Well(3)), opstest.Operation(v1alpha1.VerbStart), true),
				func(s *ops.State) { s.Kube.Schedule = &workload.Schedule{Missing: opstest.ScheduleParts()} })
		}, "done"},
		{"stopped", func() ops.State {
			return changed(opstest.Doing(opstest.Timed(opstest.Well(3)), opstest.Operation(v1alpha1.VerbStop), true),
				func(s *ops.State) {
					s.Cluster.Spec.Stopped = true
					stopped(s, []string{"db-1", "db-2", "db-3"})
				})
		}, "schedule-backups"},
	})
}

func TestDecideScheduledBackup(t *testing.T) {
	t.Parallel()
	backup := func(change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := opstest.Timed(opstest.Well(3))
			s.Operation = opstest.Operation(v1alpha1.VerbBackup)
			s.Operation.Spec.Scheduled, s.Operation.Spec.Keep, s.Operation.Spec.Backup = true, 7, "b"
			change(&s)
			return s
		}
	}
	fact := func(names ...string) func(*ops.State) {
		return func(s *ops.State) {
			for _, n := range names {
				s.SetFact(n)
			}
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"taken first", backup(func(*ops.State) {}), "backup/b"},
		{"then the old ones go", backup(fact(v1alpha1.FactBackup)), "prune-backups"},
		{"then it is done", backup(fact(v1alpha1.FactBackup, v1alpha1.FactPruned)), "done"},
		{"all stay", backup(func(s *ops.State) { fact(v1alpha1.FactBackup)(s); s.Operation.Spec.Keep = 0 }), "done"},
		{"by hand nothing goes",
			backup(func(s *ops.State) { fact(v1alpha1.FactBackup)(s); s.Operation.Spec.Scheduled = false }), "done"},
		{"it mends nothing: it may not", backup(func(s *ops.State) {
			fact(v1alpha1.FactBackup,
				v1alpha1.FactPruned)(s)
			s.Kube.Budget = nil
		}), "done"},
		{"nor does it start what is missing", backup(func(s *ops.State) { s.Kube.Members[2].Workload = observe.Workload{} }),
			"backup/b"},
		{"of a stopped cluster", backup(func(s *ops.State) { s.Cluster.Spec.Stopped = true }), "blocked Refused stopped"},
		{"given up", backup(func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling }), "done"},
	})
}

func TestCheckPolicy(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*v1alpha1.BackupPolicy)
		want   string
	}{
		"fine":             {func(*v1alpha1.BackupPolicy) {}, ""},
		"a path":           {func(p *v1alpha1.BackupPolicy) { p.Repository = "pvc:backups/etcd" }, ""},
		"a word":           {func(p *v1alpha1.BackupPolicy) { p.Schedule = "@daily" }, ""},
		"a time zone":      {func(p *v1alpha1.BackupPolicy) { p.TimeZone = "Europe/Berlin" }, ""},
		"none":             {func(p *v1alpha1.BackupPolicy) { *p = v1alpha1.BackupPolicy{Repository: "dir:/x"} }, ""},
		"no place":         {func(p *v1alpha1.BackupPolicy) { p.Repository = "" }, "no place there"},
		"my machine":       {func(p *v1alpha1.BackupPolicy) { p.Repository = "dir:/backups" }, "no place there"},
		"no cron":          {func(p *v1alpha1.BackupPolicy) { p.Schedule = "at night" }, "is no schedule"},
		"six fields":       {func(p *v1alpha1.BackupPolicy) { p.Schedule = "0 0 2 * * *" }, "is no schedule"},
		"a zone inside":    {func(p *v1alpha1.BackupPolicy) { p.Schedule = "CRON_TZ=UTC 0 2 * * *" }, "inside the schedule"},
		"never":            {func(p *v1alpha1.BackupPolicy) { p.Schedule = "0 0 30 2 *" }, "never comes due"},
		"nowhere":          {func(p *v1alpha1.BackupPolicy) { p.TimeZone = "Europe/Atlantis" }, "no time zone"},
		"the machine's":    {func(p *v1alpha1.BackupPolicy) { p.TimeZone = "Local" }, "no time zone"},
		"fewer than none":  {func(p *v1alpha1.BackupPolicy) { p.Keep = -1 }, "can't be kept"},
		"out of the claim": {func(p *v1alpha1.BackupPolicy) { p.Repository = "pvc:backups/../x" }, "no place there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := opstest.Nightly()
			row.change(&p)
			err := operation.BackupSchedule{}.Check(nil,
				v1alpha1.OperationSpec{ScheduleParameters: v1alpha1.ScheduleParameters{Policy: &p}}, nil, nil)
			refusal, ok := errors.AsType[*engine.Refusal](err)
			if (err == nil) != (row.want == "") || err != nil &&
				(!ok || !strings.Contains(refusal.Reason, row.want) || refusal.Hint == "") {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

func TestScheduled(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 5, 12, 0, 0, 0, time.UTC) // the last one was due at two
	due := at.Add(-10 * time.Hour)
	backedUp := func(s *ops.State, t time.Time, where string) {
		s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{Repository: where, Time: metav1.NewTime(t)}
	}
	for name, row := range map[string]struct {
		change func(*ops.State)
		want   string
	}{
		"taken": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted, s.Kube.Schedule.LastDone = due,
				due.Add(time.Minute)
		}, ""},
		"taken, and the record says so": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted = due
			backedUp(s,
				due.Add(time.Minute), "pvc:backups")
		}, ""},
		"none was due since it was set": {func(s *ops.State) { s.Kube.Schedule.Since = due.Add(time.Minute) }, ""},
		"it was never started":          {func(*ops.State) {}, "Overdue"},
		"it is due since a moment":      {func(s *ops.State) { s.Now = due.Add(health.ScheduleGrace / 2) }, ""},
		"it failed":                     {func(s *ops.State) { s.Kube.Schedule.LastStarted = due }, "Failed"},
		"it failed, and one by hand is new": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted = due
			backedUp(s,
				due.Add(time.Hour), "pvc:backups")
		}, ""},
		"the one by hand is elsewhere": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted = due
			backedUp(s,
				due.Add(time.Hour), "dir:/home")
		}, "Failed"},
		"the one by hand is older": {func(s *ops.State) { backedUp(s, due.Add(-time.Hour), "pvc:backups") },
			"Overdue"},
		"it takes long": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted, s.Kube.Schedule.Running = due,
				true
		}, ""},
		"one failed and the next runs": {func(s *ops.State) {
			s.Kube.Schedule.LastStarted, s.Kube.Schedule.Running, s.Kube.Schedule.Since = due, true, due.Add(-30*time.Hour)
		}, "Overdue"},
		"nothing begins it": {func(s *ops.State) { s.Kube.Schedule = &workload.Schedule{Missing: opstest.ScheduleParts()} },
			"Missing"},
		"suspended by a hand": {func(s *ops.State) { s.Kube.Schedule.Suspended = true }, "Suspended"},
		"stopped":             {func(s *ops.State) { s.Cluster.Spec.Stopped, s.Kube.Schedule.Suspended = true, true }, ""},
		"in another zone": {func(s *ops.State) {
			s.Cluster.Spec.Backup.TimeZone = "Pacific/Auckland"
			s.Kube.Schedule.Since = due.Add(time.Hour)
		}, ""},
		"a schedule of another tool": {func(s *ops.State) { s.Cluster.Spec.Backup.Schedule = "at night" }, "Invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			s.Now = at
			s = opstest.Timed(s)
			row.change(&s)
			got := health.Scheduled(s)
			if got.Reason != row.want || (got.Problem == "") != (row.want == "") {
				t.Errorf("%q: %s, want %q", got.Reason, got.Problem, row.want)
			}
			v := health.Assess(opstest.Stub{}, s, Verbs())
			if level := map[bool]health.Level{true: health.Healthy, false: health.Degraded}[row.want == "" ||
				s.Cluster.Spec.Stopped]; !s.Cluster.Spec.Stopped && (v.Level != level || v.Database != health.Healthy) {
				t.Errorf("it is %s, the database %s", v.Level, v.Database)
			}
		})
	}
	if got := health.Scheduled(opstest.Well(3)); got != nil {
		t.Errorf("without a schedule: %+v", got)
	}
}

// TestDecideStopBackup: only a Job goes on without the process that started it, and it is stopped once.
func TestDecideStopBackup(t *testing.T) {
	t.Parallel()
	cancelled := func(verb v1alpha1.Verb, url string, change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := opstest.Well(3)
			s.Operation = opstest.Operation(verb)
			s.Operation.Spec.Repository, s.Operation.Spec.Backup = url, "b"
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.BackupStepPrefix + "b"}}
			change(&s)
			return s
		}
	}
	as := func(*ops.State) {}
	ask(t, opstest.Stub{}, []question{
		{"in a store", cancelled(v1alpha1.VerbBackup, "offsite", as), "stop-backup/b"},
		{"of a schedule", cancelled(v1alpha1.VerbBackup, "offsite", func(s *ops.State) { s.Operation.Spec.Scheduled = true }),
			"stop-backup/b"},
		{"for safety", cancelled(v1alpha1.VerbUpgrade, "offsite", as), "stop-backup/b"},
		{"in a claim", cancelled(v1alpha1.VerbBackup, "pvc:backups", as), "done"},
		{"stopped already", cancelled(v1alpha1.VerbBackup, "offsite",
			func(s *ops.State) { s.SetFact(v1alpha1.FactStopped) }), "done"},
		{"taken already", cancelled(v1alpha1.VerbBackup, "offsite",
			func(s *ops.State) { s.SetFact(v1alpha1.FactBackup) }), "done"},
		{"not started", cancelled(v1alpha1.VerbBackup, "offsite", func(s *ops.State) { s.Operation.Status.Journal = nil }),
			"done"},
		{"restored to be compared", cancelled(v1alpha1.VerbUpgrade, "pvc:backups", func(s *ops.State) {
			s.SetFact(v1alpha1.FactBackup)
			s.Kube.Helpers = []observe.Helper{{Name: ops.ThrowAway("db", "b") + "-0"}}
		}), "stop-backup/verification"},
		{"restored by another operation", cancelled(v1alpha1.VerbUpgrade, "pvc:backups", func(s *ops.State) {
			s.SetFact(v1alpha1.FactBackup)
			s.Kube.Helpers = []observe.Helper{{Name: ops.ThrowAway("db", "c") + "-0"}}
		}), "done"},
		{"deleted already", cancelled(v1alpha1.VerbUpgrade, "pvc:backups", func(s *ops.State) {
			s.SetFact(v1alpha1.FactBackup)
			s.Kube.Helpers = []observe.Helper{{Name: ops.ThrowAway("db", "b") + "-0", Terminating: true}}
		}), "done"},
		{"going on while no member is fit", cancelled(v1alpha1.VerbBackup, "offsite", func(s *ops.State) {
			s.Operation.Status.Phase, s.Operation.Spec.Scheduled = v1alpha1.PhaseRunning, true
			for i := range s.View.Members {
				s.View.Members[i].Reachable, s.View.Members[i].Serving = false, false
			}
		}), "backup/b"},
		{"going on", cancelled(v1alpha1.VerbBackup, "offsite",
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseRunning }), "backup/b"},
	})
}
