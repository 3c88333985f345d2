package plans

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func requests() []request {
	small := &v1alpha1.SettingsChange{Set: map[string]string{"snapshot-count": "20000"}}
	large := resource.MustParse("2Gi")
	policy := opstest.Nightly()
	empty := &workload.Schedule{Missing: opstest.ScheduleParts()}
	newer := func(s *ops.State) { at(s, "3.6.16", "3.6") }
	limited := func(limits ...int) func(*ops.State) {
		return func(s *ops.State) {
			newer(s)
			for i, n := range limits {
				s.Kube.Members[i].Workload.JoinLimit, s.Kube.Members[i].Pod.JoinLimit = n, n
			}
		}
	}
	source := &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: "b0"}
	named := v1alpha1.RecoveryTarget{Name: "before-import", Timeline: "1"}
	template := drift.Difference{Object: "statefulset/db-2", Member: "db-2", Kind: drift.Edited, Field: opstest.Image,
		Want: "good", Have: "bad"}
	takenBack := v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore, Undoes: "db.restore",
		RestoreParameters: v1alpha1.RestoreParameters{InPlace: true, ToIncarnation: &v1alpha1.Incarnation{
			Bootstrap: v1alpha1.Bootstrap{Token: "before", Members: []string{"db-4", "db-5", "db-6"}, ClusterID: "before"},
			Backup:    &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: "safety"}}}}
	return []request{
		{name: "create", state: founding(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "create-with-users", state: with(founding(3), func(s *ops.State) { s.Cluster.Spec.Auth.Enabled = true }),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "create-with-initial-sql", engine: postgres.New(), state: with(founding(3), func(s *ops.State) {
			s.Cluster.Spec.Engine, s.Cluster.Spec.Version = postgres.Name, "17.12"
			s.Cluster.Spec.Auth = v1alpha1.Auth{Enabled: true, Users: []v1alpha1.DatabaseUser{{Name: "shop", Prefix: "shop"}}}
			s.Cluster.Spec.InitialSQL = &v1alpha1.InitialSQL{Secret: "schema", User: "shop"}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "create-whose-record-was-lost", state: with(running(3), func(s *ops.State) {
			s.Cluster.Spec.Auth.Enabled = true
			s.Cluster.Status.Bootstrap.Unfinished = true
			s.SetAuth(engine.AuthOn)
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "create-over-volumes", state: with(founding(3), func(s *ops.State) {
			s.Kube.Members = []observe.Member{{Name: "db-1", Volume: observe.Volume{Exists: true, Token: "other"}}}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "create-discarding-volumes", state: with(founding(3), func(s *ops.State) {
			s.Kube.Members = []observe.Member{{Name: "db-1", Volume: observe.Volume{Exists: true, Token: "other"}}}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate, DeleteParameters: v1alpha1.DeleteParameters{Purge: true}}},
		{name: "create-scheduled", state: with(founding(1), func(s *ops.State) {
			s.Cluster.Spec.Backup,
				s.Kube.Schedule = policy, empty
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreate}},
		{name: "restore", state: with(founding(3), func(s *ops.State) {
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "pvc:backups", Backup: "b0"}
			s.Cluster.Status.Bootstrap.Members = []string{"db-1"}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore, Source: source}},
		{name: "restore-in-place", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore, RestoreParameters: v1alpha1.RestoreParameters{InPlace: true},
				Source: source}},
		{name: "restore-to-name", state: with(founding(3), func(s *ops.State) {
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "store", Backup: "b0", Target: named}
			s.Cluster.Status.Bootstrap.Members = []string{"db-1"}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore,
			Source: &v1alpha1.BackupSource{Repository: "store", Backup: "b0", Target: named}}},
		{name: "restore-in-place-to-lsn", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore,
			RestoreParameters: v1alpha1.RestoreParameters{InPlace: true},
			Source: &v1alpha1.BackupSource{Repository: "store", Backup: "b0",
				Target: v1alpha1.RecoveryTarget{LSN: "0/3000060", Exclusive: true, Timeline: "1"}}}},
		{name: "restore-in-place-cancelled", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestore,
				RestoreParameters: v1alpha1.RestoreParameters{InPlace: true}, Source: source}, record: cancelling},
		{name: "restore-taken-back", state: with(running(3), restored), ask: takenBack},
		{name: "restore-taken-back-postgres", state: with(replicated(3), restored), engine: postgres.New(), ask: takenBack},
		{name: "restore-taken-back-cancelled", state: with(running(3), restored), ask: takenBack, record: cancelling},
		{name: "restore-taken-back-without-volumes", state: with(running(3), func(s *ops.State) {
			restored(s)
			s.Kube.Members = s.Kube.Members[:4]
		}), ask: takenBack},
		{name: "drop-volumes", state: with(running(3), restored), ask: v1alpha1.OperationSpec{
			Verb: v1alpha1.VerbDropVolumes}},
		{name: "add-member", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbAddMember}},
		{name: "remove-member", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRemoveMember,
			Member: "db-1"}},
		{name: "remove-last-member", state: running(1), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRemoveMember,
			Member: "db-1"}},
		{name: "remove-unknown", state: with(running(3), func(s *ops.State) {
			s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: "id-x", Name: "x", Voter: false})
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRemoveMember, Member: "x"}},
		{name: "replace-member", state: with(running(3), lost("db-2")),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbReplaceMember, Member: "db-2"}},
		{name: "replace-healthy", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbReplaceMember,
			Member: "db-1"}},
		{name: "replace-leader-by-force", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbReplaceMember, Member: "db-1", Waive: []string{"evidence"}}},
		{name: "scale-up", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale,
			SizeParameters: v1alpha1.SizeParameters{Members: 5}}},
		{name: "scale-up-side-by-side", state: with(running(3), limited(2, 2, 2)),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 7}}},
		{name: "scale-up-one-limit-lower", state: with(running(3), limited(2, 1, 2)),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 5}}},
		{name: "scale-down", state: running(5), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale,
			SizeParameters: v1alpha1.SizeParameters{Members: 3}}},
		{name: "scale-even", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale,
			SizeParameters: v1alpha1.SizeParameters{Members: 4}}},
		{name: "upgrade", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
			VersionParameters: v1alpha1.VersionParameters{Version: "3.6.16"}}},
		{name: "upgrade-converting", state: replicated(3), engine: postgres.New(), ask: v1alpha1.OperationSpec{
			Verb: v1alpha1.VerbUpgrade, VersionParameters: v1alpha1.VersionParameters{Version: "17.12"},
			Waive: []string{"downtime"}}},
		{name: "upgrade-converting-cancelled", state: replicated(3), engine: postgres.New(),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "17.12"}, Waive: []string{"downtime"}},
			record: cancelling},
		{name: "upgrade-converting-down", state: replicated(3), engine: postgres.New(),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "17.12"}}},
		{name: "upgrade-linking", state: replicated(3), engine: postgres.New(), ask: v1alpha1.OperationSpec{
			Verb: v1alpha1.VerbUpgrade, VersionParameters: v1alpha1.VersionParameters{Version: "17.12"},
			Waive: []string{"downtime", ops.WaiverWayBack}}},
		{name: "upgrade-one", state: running(1),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.6.16"},
				Waive:             []string{"downtime"}}},
		{name: "upgrade-too-far", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
			VersionParameters: v1alpha1.VersionParameters{Version: "3.7.3"}}},
		{name: "upgrade-cancelled", state: with(running(3), func(s *ops.State) { opstest.Runs(s, "db-2", "3.6.16") }),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.6.16"}}, record: cancelling},
		{name: "upgrade-stopped", state: with(running(3), func(s *ops.State) { s.Cluster.Spec.Stopped = true }),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.6.16"}}},
		{name: "downgrade", state: with(running(3), newer), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDowngrade,
			VersionParameters: v1alpha1.VersionParameters{Version: "3.5.35"}}},
		{name: "downgrade-cancelled", state: with(running(3), newer),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDowngrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.5.35"}}, record: cancelling},
		{name: "backup", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbBackup,
			BackupParameters: v1alpha1.BackupParameters{Verify: true}}},
		{name: "backup-scheduled", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbBackup,
				BackupParameters: v1alpha1.BackupParameters{Scheduled: true, Retention: v1alpha1.Retention{Keep: 3}}}},
		{name: "backup-schedule", state: with(running(3), func(s *ops.State) { s.Kube.Schedule = empty }),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbSchedule,
				ScheduleParameters: v1alpha1.ScheduleParameters{Policy: &policy}}},
		{name: "backup-schedule-none", state: opstest.Timed(running(3)),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbSchedule,
				ScheduleParameters: v1alpha1.ScheduleParameters{Policy: &v1alpha1.BackupPolicy{}}}},
		{name: "configure", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbConfigure,
			SettingsParameters: v1alpha1.SettingsParameters{Change: small}}},
		{name: "configure-unknown", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbConfigure,
			SettingsParameters: v1alpha1.SettingsParameters{
				Change: &v1alpha1.SettingsChange{Set: map[string]string{"colour": "red"}}}}},
		{name: "resize", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbResize,
			SettingsParameters: v1alpha1.SettingsParameters{Change: &v1alpha1.SettingsChange{Size: &large,
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(
					"1Gi")}}}}},
		{name: "switchover", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbSwitchover}},
		{name: "switchover-to", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbSwitchover,
			Member: "db-3"}},
		{name: "failover", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbFailover}},
		{name: "hold", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbHold}},
		{name: "follow", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbFollow,
			FollowParameters: v1alpha1.FollowParameters{Follow: "next"}}},
		{name: "cutover", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCutover}},
		{name: "restart", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestart}},
		{name: "restart-one", state: running(1), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestart}},
		{name: "stop", state: opstest.Timed(running(3)), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbStop}},
		{name: "start", state: with(running(3), func(s *ops.State) {
			s.Cluster.Spec.Stopped, s.View = true, engine.View{}
			for i := range s.Kube.Members {
				s.Kube.Members[i].Workload, s.Kube.Members[i].Pod = observe.Workload{}, observe.Pod{}
			}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbStart}},
		{name: "defrag", state: with(running(3), func(s *ops.State) {
			for i := range s.View.Members {
				s.View.Members[i].DataBytes = 1 << 30
			}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDefrag}},
		{name: "compact", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCompact,
			SpaceParameters: v1alpha1.SpaceParameters{Compaction: &v1alpha1.Compaction{Keep: 100}}}},
		{name: "alarms-clear-space", state: with(running(3), alarmed),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbClearAlarms,
				SpaceParameters: v1alpha1.SpaceParameters{Compaction: &v1alpha1.Compaction{Keep: 100}}}},
		{name: "alarms-clear-damage", state: with(running(3), corrupt),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbClearAlarms,
				SpaceParameters: v1alpha1.SpaceParameters{Compaction: &v1alpha1.Compaction{}}}},
		{name: "restart-damaged", state: with(running(3), corrupt),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestart}},
		{name: "recover-bring-back", state: with(running(3), func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Podless(s, "db-1")
			opstest.Podless(s, "db-2")
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRecover}},
		{name: "recover-data", state: with(running(3), lost("db-1", "db-2")),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRecover,
				RecoverParameters: v1alpha1.RecoverParameters{Method: v1alpha1.RecoverData}}},
		{name: "recover-backup", state: with(running(3), lost("db-1", "db-2")),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRecover,
				RecoverParameters: v1alpha1.RecoverParameters{Method: v1alpha1.RecoverBackup}, Source: source}},
		{name: "recover-healthy", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRecover}},
		{name: "repair", state: opstest.Differs(running(3), opstest.Gone("service/db", ""), template),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRepair}},
		{name: "repair-quiet", state: opstest.Differs(running(3), opstest.Gone("service/db", ""), template),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRepair, RestartParameters: v1alpha1.RestartParameters{Quiet: true}}},
		{name: "repair-authority", state: with(running(3),
			func(s *ops.State) {
				s.Kube.Trust = &pki.Trust{
					Problem: "it is gone"}
			}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRepair}},
		{name: "upgrade-altered", state: opstest.Differs(running(3), opstest.Gone("secret/db-2-tls", "db-2")),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.6.16"}}},
		{name: "auth-enable", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbEnableAuth}},
		{name: "auth-disable", state: with(running(3), users), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDisableAuth}},
		{name: "user-create", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreateUser,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "billing", ReadOnly: true}}}},
		{name: "user-create-cancelled", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreateUser,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "billing"}}},
			record: func(op *v1alpha1.Operation) {
				cancelling(op)
				op.Status.Facts = map[string]string{v1alpha1.FactCredentials: "done"}
			}},
		{name: "user-delete", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDeleteUser,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "app"}}}},
		{name: "user-delete-unknown", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDeleteUser,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "nobody"}}}},
		{name: "credentials-rotate", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCredentials}},
		{name: "credentials-drop", state: with(running(3), users),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCredentials,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "app"}, DropOld: true}}},
		{name: "certificates-rotate", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
			CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateLeaves}}},
		{name: "certificates-rotate-begin", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateBegin}}},
		{name: "certificates-rotate-finish", state: with(running(3), opstest.Trusting),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateFinish}}},
		{name: "certificates-rotate-abandon", state: with(running(3), opstest.Trusting),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateAbandon}}},
		{name: "certificates-rotate-at-once", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateAtOnce}}},
		{name: "certificates-rotate-expired", state: dressed(opstest.Expired(v1alpha1.RotateAtOnce)),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateAtOnce}}},
		{name: "delete", state: running(3), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDelete}},
		{name: "delete-purge", state: running(3),
			ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDelete, DeleteParameters: v1alpha1.DeleteParameters{Purge: true},
				Waive: []string{"backup"}}},
		{name: "drift", state: with(running(3), func(s *ops.State) {
			s.Rendering = "ours"
			s.Kube.Members[1].Pod = observe.Pod{}
		}), ask: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRestart}},
	}
}

// restored makes a cluster one that the operation db.restore restored in place, with the volumes from before.
func restored(s *ops.State) {
	f := s.Cluster.Status.Bootstrap
	f.Token, f.Members, f.Loaded, f.Incarnation = "incarnation-db.restore-db-1", []string{"db-1"}, true, 1
	s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "pvc:backups", Backup: "b0"}
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		m.Workload.Token, m.Volume.Token = f.Token, f.Token
	}
	for _, name := range []string{"db-4", "db-5", "db-6"} {
		s.Kube.Members = append(s.Kube.Members, observe.Member{Name: name,
			Volume: observe.Volume{Exists: true, Bound: true, Token: "before", Size: resource.MustParse("1Gi")}})
	}
}
