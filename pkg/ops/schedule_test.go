package ops

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func nightly() v1alpha1.BackupPolicy {
	return v1alpha1.BackupPolicy{Repository: "pvc:backups", Schedule: "0 2 * * *", Keep: 7}
}

// scheduleParts are the kinds of a schedule's objects.
func scheduleParts() []string { return []string{"ServiceAccount", "Role", "RoleBinding", "CronJob"} }

// timed is a cluster whose schedule is carried out since a day.
func timed(s State) State {
	s.Cluster.Spec.Backup = nightly()
	s.Kube.Schedule = &kube.Schedule{Present: scheduleParts(), Policy: nightly(), Image: "tool:1", Since: s.Now.Add(-24 * time.Hour)}
	return s
}

// rescheduling is under way to another schedule.
func rescheduling(s State, p v1alpha1.BackupPolicy) State {
	s.Operation = operation(v1alpha1.VerbSchedule)
	s.Operation.Spec.Policy, s.Operation.Spec.FromPolicy = &p, new(s.Cluster.Spec.Backup)
	want(s.Cluster, s.Operation)
	if s.Kube.Schedule == nil {
		s.Kube.Schedule = &kube.Schedule{Missing: scheduleParts()}
	}
	return s
}

func TestDecideSchedule(t *testing.T) {
	t.Parallel()
	none := v1alpha1.BackupPolicy{Repository: "pvc:backups"}
	hourly := nightly()
	hourly.Schedule = "0 * * * *"
	changed := func(s State, change func(*State)) State { change(&s); return s }
	ask(t, stub{}, []question{
		{"a first schedule", func() State { return rescheduling(well(3), nightly()) }, "schedule-backups"},
		{"it is there", func() State { return rescheduling(timed(well(3)), nightly()) }, "done"},
		{"another one", func() State { return rescheduling(timed(well(3)), hourly) }, "schedule-backups"},
		{"none any more", func() State { return rescheduling(timed(well(3)), none) }, "unschedule-backups"},
		{"none any more, and only an account is left", func() State {
			return changed(rescheduling(timed(well(3)), none), func(s *State) { s.Kube.Schedule = &kube.Schedule{Present: scheduleParts()[:1]} })
		}, "unschedule-backups"},
		{"none, and there is none", func() State { return rescheduling(well(3), none) }, "done"},
		{"its role is gone", func() State {
			return changed(rescheduling(timed(well(3)), nightly()), func(s *State) { s.Kube.Schedule.Missing = []string{"Role"} })
		}, "schedule-backups"},
		{"its binding was changed", func() State {
			return differs(rescheduling(timed(well(3)), nightly()), edited("rolebinding/db-backup", "", "subjects"))
		}, "schedule-backups"},
		{"stopped, and its binding was changed, which takes more rights", func() State {
			s := changed(timed(well(3)).doing(operation(v1alpha1.VerbStop), true), func(s *State) {
				s.Cluster.Spec.Stopped, s.Kube.Schedule.Suspended = true, true
				s.stopped([]string{"db-1", "db-2", "db-3"})
			})
			return differs(s, edited("rolebinding/db-backup", "", "subjects"))
		}, "done"},
		{"by another image", func() State {
			return changed(rescheduling(timed(well(3)), nightly()), func(s *State) { s.Operation.Spec.Image = "tool:2" })
		}, "schedule-backups"},
		{"by an image that the cluster names", func() State { return changed(timed(well(3)), func(s *State) { s.Cluster.Spec.HelperImage = "tool:2" }) }, "schedule-backups"},
		{"it needs no member", func() State { return changed(rescheduling(well(3), nightly()), func(s *State) { s.noQuorum() }) }, "schedule-backups"},
		{"back to what was", func() State {
			return changed(rescheduling(timed(well(3)), hourly), func(s *State) {
				s.Kube.Schedule.Policy, s.Operation.Status.Phase = hourly, v1alpha1.PhaseCancelling
				want(s.Cluster, s.Operation)
			})
		}, "schedule-backups"},
		{"at rest", func() State { return timed(well(3)) }, "done"},
		{"at rest, and somebody deleted it", func() State {
			return changed(timed(well(3)), func(s *State) { s.Kube.Schedule = &kube.Schedule{Missing: scheduleParts()} })
		}, "schedule-backups"},
		{"under a custom resource it was adopted by", func() State {
			return changed(timed(well(3)), func(s *State) { s.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"} })
		}, "schedule-backups"},
		{"no business of a scale", func() State {
			return changed(timed(well(3)).doing(operation(v1alpha1.VerbScale), true), func(s *State) { s.Kube.Schedule.Suspended = true })
		}, "done"},
		{"started anew", func() State {
			return changed(timed(well(3)).doing(operation(v1alpha1.VerbStart), true), func(s *State) { s.Kube.Schedule.Suspended = true })
		}, "schedule-backups"},
		{"started, and who starts may make none", func() State {
			return changed(timed(well(3)).doing(operation(v1alpha1.VerbStart), true), func(s *State) { s.Kube.Schedule = &kube.Schedule{Missing: scheduleParts()} })
		}, "done"},
		{"stopped", func() State {
			return changed(timed(well(3)).doing(operation(v1alpha1.VerbStop), true), func(s *State) {
				s.Cluster.Spec.Stopped = true
				s.stopped([]string{"db-1", "db-2", "db-3"})
			})
		}, "schedule-backups"},
	})
}

func TestDecideScheduledBackup(t *testing.T) {
	t.Parallel()
	backup := func(change func(*State)) func() State {
		return func() State {
			s := timed(well(3))
			s.Operation = operation(v1alpha1.VerbBackup)
			s.Operation.Spec.Scheduled, s.Operation.Spec.Keep, s.Operation.Spec.Backup = true, 7, "b"
			change(&s)
			return s
		}
	}
	fact := func(names ...string) func(*State) {
		return func(s *State) {
			for _, n := range names {
				s.setFact(n)
			}
		}
	}
	ask(t, stub{}, []question{
		{"taken first", backup(func(*State) {}), "backup/b"},
		{"then the old ones go", backup(fact(v1alpha1.FactBackup)), "prune-backups"},
		{"then it is done", backup(fact(v1alpha1.FactBackup, v1alpha1.FactPruned)), "done"},
		{"all stay", backup(func(s *State) { fact(v1alpha1.FactBackup)(s); s.Operation.Spec.Keep = 0 }), "done"},
		{"by hand nothing goes", backup(func(s *State) { fact(v1alpha1.FactBackup)(s); s.Operation.Spec.Scheduled = false }), "done"},
		{"it mends nothing: it may not", backup(func(s *State) { fact(v1alpha1.FactBackup, v1alpha1.FactPruned)(s); s.Kube.Budget = nil }), "done"},
		{"nor does it start what is missing", backup(func(s *State) { s.Kube.Members[2].Workload = kube.Workload{} }), "backup/b"},
		{"of a stopped cluster", backup(func(s *State) { s.Cluster.Spec.Stopped = true }), "blocked Refused stopped"},
		{"given up", backup(func(s *State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling }), "done"},
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
			p := nightly()
			row.change(&p)
			err := checkPolicy(p)
			refusal, ok := errors.AsType[*engine.Refusal](err)
			if (err == nil) != (row.want == "") || err != nil && (!ok || !strings.Contains(refusal.Reason, row.want) || refusal.Hint == "") {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

func TestScheduled(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 5, 12, 0, 0, 0, time.UTC) // the last one was due at two
	due := at.Add(-10 * time.Hour)
	backedUp := func(s *State, t time.Time, where string) {
		s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{Repository: where, Time: metav1.NewTime(t)}
	}
	for name, row := range map[string]struct {
		change func(*State)
		want   string
	}{
		"taken":                             {func(s *State) { s.Kube.Schedule.LastBegun, s.Kube.Schedule.LastDone = due, due.Add(time.Minute) }, ""},
		"taken, and the record says so":     {func(s *State) { s.Kube.Schedule.LastBegun = due; backedUp(s, due.Add(time.Minute), "pvc:backups") }, ""},
		"none was due since it was set":     {func(s *State) { s.Kube.Schedule.Since = due.Add(time.Minute) }, ""},
		"it was never begun":                {func(*State) {}, "Overdue"},
		"it is due since a moment":          {func(s *State) { s.Now = due.Add(scheduleGrace / 2) }, ""},
		"it failed":                         {func(s *State) { s.Kube.Schedule.LastBegun = due }, "Failed"},
		"it failed, and one by hand is new": {func(s *State) { s.Kube.Schedule.LastBegun = due; backedUp(s, due.Add(time.Hour), "pvc:backups") }, ""},
		"the one by hand is elsewhere":      {func(s *State) { s.Kube.Schedule.LastBegun = due; backedUp(s, due.Add(time.Hour), "dir:/home") }, "Failed"},
		"the one by hand is older":          {func(s *State) { backedUp(s, due.Add(-time.Hour), "pvc:backups") }, "Overdue"},
		"it takes long":                     {func(s *State) { s.Kube.Schedule.LastBegun, s.Kube.Schedule.Running = due, true }, ""},
		"one failed and the next runs": {func(s *State) {
			s.Kube.Schedule.LastBegun, s.Kube.Schedule.Running, s.Kube.Schedule.Since = due, true, due.Add(-30*time.Hour)
		}, "Overdue"},
		"nothing begins it":   {func(s *State) { s.Kube.Schedule = &kube.Schedule{Missing: scheduleParts()} }, "Missing"},
		"suspended by a hand": {func(s *State) { s.Kube.Schedule.Suspended = true }, "Suspended"},
		"stopped":             {func(s *State) { s.Cluster.Spec.Stopped, s.Kube.Schedule.Suspended = true, true }, ""},
		"in another zone": {func(s *State) {
			s.Cluster.Spec.Backup.TimeZone = "Pacific/Auckland"
			s.Kube.Schedule.Since = due.Add(time.Hour)
		}, ""},
		"a schedule of another tool": {func(s *State) { s.Cluster.Spec.Backup.Schedule = "at night" }, "Invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := well(3)
			s.Now = at
			s = timed(s)
			row.change(&s)
			got := s.Scheduled()
			if got.Reason != row.want || (got.Problem == "") != (row.want == "") {
				t.Errorf("%q: %s, want %q", got.Reason, got.Problem, row.want)
			}
			v := Assess(stub{}, s)
			if level := map[bool]Level{true: Healthy, false: Degraded}[row.want == "" || s.Cluster.Spec.Stopped]; !s.Cluster.Spec.Stopped && (v.Level != level || v.Database != Healthy) {
				t.Errorf("it is %s, the database %s", v.Level, v.Database)
			}
		})
	}
	if got := well(3).Scheduled(); got != nil {
		t.Errorf("without a schedule: %+v", got)
	}
}
