package operation

import (
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// BackupSchedule sets when backups are taken, and where they go.
type BackupSchedule struct{ rules.Plain }

// Traits implements rules.Operation.
func (BackupSchedule) Traits() rules.Traits {
	return rules.Traits{ReadsSchedule: true, Schedule: rules.ScheduleMade}
}

// Manners implements rules.Operation.
func (BackupSchedule) Manners() ops.Manners {
	return ops.Manners{
		StepsBack: ops.Anytime,
		Same:      func(have, asked v1alpha1.OperationSpec) bool { return *have.Policy == *asked.Policy },
	}
}

// Default implements rules.Operation.
func (BackupSchedule) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromPolicy = new(c.Spec.Backup)
}

// Check implements rules.Operation.
func (BackupSchedule) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	return checkPolicy(e, c, *o.Policy)
}

// ApplyTo implements rules.Operation.
func (BackupSchedule) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Backup = *o.Policy
	if back {
		spec.Backup = *o.FromPolicy
	}
}

// Steps implements rules.Operation.
func (BackupSchedule) Steps() rules.Steps {
	return rules.Steps{Alone: func(p rules.Situation) *ops.Decision {
		if d := p.Scheduling(); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	}}
}

// Undo implements rules.Operation.
func (BackupSchedule) Undo(u *rules.Undoing) error {
	from := u.Of.Spec.FromPolicy
	if from == nil {
		return u.Unrecorded("which schedule there was")
	}
	u.Operation.Verb, u.Operation.Policy = v1alpha1.VerbSchedule, from
	u.Title = "take no scheduled backups any more"
	if from.Schedule != "" {
		u.Title = "back up at " + rules.DescribeSchedule(*from) + " again"
	}
	return nil
}

// checkPolicy judges a schedule before it is written down: one that never
// comes due would be noticed when a backup is needed.
func checkPolicy(e engine.Engine, c *v1alpha1.DatabaseCluster, p v1alpha1.BackupPolicy) error {
	if p.Schedule == "" {
		return nil
	}
	refuse := func(hint, format string, args ...any) error {
		return &engine.Refusal{Check: "schedule", Reason: fmt.Sprintf(format, args...), Hint: hint}
	}
	at, err := repository.ParseLocation(p.Repository)
	if err != nil || at.Kind == repository.KindDirectory {
		return refuse(`name a claim of the cluster's namespace, "pvc:CLAIM" or "pvc:CLAIM/PATH", or a repository by its name`,
			"scheduled backups are taken inside the cluster, and %q is no place there", p.Repository)
	}
	if p.TimeZone != "" {
		if _, err := time.LoadLocation(p.TimeZone); err != nil || p.TimeZone == "Local" {
			return refuse(`name one of the IANA database, such as "Europe/Berlin", or leave it out`,
				"there is no time zone %q", p.TimeZone)
		}
	}
	if _, err := backups.RetentionOf(p.Retention, p.TimeZone); err != nil {
		return refuse("without a rule all backups are kept", "it can't be kept: %v", err)
	}
	switch p.Verify {
	case "", v1alpha1.Daily, v1alpha1.Weekly, v1alpha1.Monthly:
	default:
		return refuse("daily, weekly or monthly", "backups can't be verified %q", p.Verify)
	}
	if err := checkFull(e, c, p); err != nil {
		return err
	}
	s, err := health.CronOf(p)
	switch {
	case strings.Contains(p.Schedule, "TZ"):
		return refuse("name the time zone beside the schedule",
			"%q names a time zone inside the schedule, which Kubernetes does not take", p.Schedule)
	case err != nil:
		return refuse(`five fields as cron has them: minute, hour, day of month, month, day of week; for example "0 2 * * *"`, "%q is no schedule: %v", p.Schedule, err)
	case s.Next(time.Unix(0, 0)).IsZero():
		return refuse("choose a day that exists", "%q never comes due", p.Schedule)
	}
	return nil
}

// checkFull refuses a schedule of which some backups are to hold what changed alone, where none can.
func checkFull(e engine.Engine, c *v1alpha1.DatabaseCluster, p v1alpha1.BackupPolicy) error {
	switch p.Full {
	case "":
		return nil
	case v1alpha1.Daily, v1alpha1.Weekly, v1alpha1.Monthly:
	default:
		return &engine.Refusal{Check: "schedule", Reason: fmt.Sprintf("full backups can't be taken %q", p.Full),
			Hint: "daily, weekly or monthly"}
	}
	i, ok := e.(engine.Incremental)
	if !ok {
		return backups.NoneIncremental(e, "leave out how often full ones are taken: each is one")
	}
	return i.CheckIncremental(c, p.Repository)
}
