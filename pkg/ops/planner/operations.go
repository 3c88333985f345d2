package planner

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/certificates"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/users"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// operations are all that the tool can do to a cluster. A new verb is a type of its own and a line here.
func operations() map[v1alpha1.Verb]rules.Operation {
	return map[v1alpha1.Verb]rules.Operation{
		v1alpha1.VerbCreate:             operation.Create{},
		v1alpha1.VerbAddMember:          operation.AddMember{},
		v1alpha1.VerbRemoveMember:       operation.RemoveMember{},
		v1alpha1.VerbReplaceMember:      operation.ReplaceMember{},
		v1alpha1.VerbScale:              operation.Scale{},
		v1alpha1.VerbUpgrade:            operation.Upgrade{},
		v1alpha1.VerbConfigure:          operation.Configure{},
		v1alpha1.VerbResize:             operation.Resize{},
		v1alpha1.VerbSwitchover:         operation.Switchover{},
		v1alpha1.VerbFailover:           operation.Failover{},
		v1alpha1.VerbCutover:            operation.Cutover{},
		v1alpha1.VerbFollow:             operation.Follow{},
		v1alpha1.VerbHold:               operation.Hold{},
		v1alpha1.VerbRestart:            operation.Restart{},
		v1alpha1.VerbStop:               operation.Stop{},
		v1alpha1.VerbStart:              operation.Start{},
		v1alpha1.VerbBackup:             operation.Backup{},
		v1alpha1.VerbSchedule:           operation.BackupSchedule{},
		v1alpha1.VerbRestore:            operation.Restore{},
		v1alpha1.VerbRecover:            operation.Recover{},
		v1alpha1.VerbRepair:             operation.Repair{},
		v1alpha1.VerbDelete:             operation.Delete{},
		v1alpha1.VerbDropVolumes:        operation.DropVolumes{},
		v1alpha1.VerbEnableAuth:         users.EnableAuth{},
		v1alpha1.VerbDisableAuth:        users.DisableAuth{},
		v1alpha1.VerbCreateUser:         users.Create{},
		v1alpha1.VerbDeleteUser:         users.Delete{},
		v1alpha1.VerbRotateCredentials:  users.Rotate{},
		v1alpha1.VerbRotateCertificates: certificates.Rotate{},

		v1alpha1.VerbDowngrade:   etcd.Downgrade{},
		v1alpha1.VerbDefrag:      etcd.Defrag{},
		v1alpha1.VerbCompact:     etcd.Compact{},
		v1alpha1.VerbClearAlarms: etcd.ClearAlarms{},
	}
}

// OperationOf is the operation of a verb; one that asks for nothing where there is none.
func OperationOf(verb v1alpha1.Verb) rules.Operation {
	if o, ok := operations()[verb]; ok {
		return o
	}
	return rules.Plain{}
}

// For is a state as the rules judge it, with what they ask about the operation in flight.
func For(e engine.Engine, s ops.State) rules.Situation {
	o := OperationOf(s.Verb())
	return rules.Situation{E: e, S: s, Traits: o.Traits(), Manners: o.Manners(), Verbs: Verbs()}
}

// Verbs says how operations meet.
func Verbs() ops.Verbs {
	return func(verb v1alpha1.Verb) ops.Manners { return OperationOf(verb).Manners() }
}
