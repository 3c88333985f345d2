package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// outcome is the state that a step leads to, as it is written.
type outcome struct {
	*ops.State
	ops.Step
	e engine.Engine
}

// settings are what members are started with.
func (o outcome) settings() string { return rules.Settings(*o.State, o.e) }

// member is what is observed of the step's member.
func (o outcome) member() *observe.Member { return &o.Kube.Members[o.MemberIndex(o.Member())] }

// predictions say what each action leads to. A new action is a line here and one in the executor, which performs it: a
// test of each package fails where one is missing.
func predictions() map[ops.Action]func(outcome) {
	return map[ops.Action]func(outcome){
		ops.ActionCertificates: func(o outcome) { o.Kube.Certificates = true },
		ops.ActionServices: func(o outcome) {
			o.Kube.Services, o.Kube.Direct, o.Kube.SentTo = true, o.Cluster.Spec.Direct(), o.Cluster.Spec.RedirectTo
			o.Kube.Differences = slices.DeleteFunc(slices.Clone(o.Kube.Differences), rules.OfClients)
		},
		ops.ActionAccount: func(o outcome) {
			o.SetFact(v1alpha1.FactAccount)
			o.Kube.LedTo = "predicted"
		},
		ops.ActionDropAccount: func(o outcome) { o.SetFact(v1alpha1.FactAccountDropped) },
		ops.ActionBudget: func(o outcome) {
			o.Kube.Budget = nil
			if o.Budget > 0 {
				budget := o.Budget
				o.Kube.Budget = &budget
			}
		},
		ops.ActionLoad: func(o outcome) {
			o.Cluster.Status.Bootstrap.Loaded = true
			AddMember(o.State, o.Member(), false)
			o.member().Workload = observe.Workload{}
		},
		ops.ActionStart: func(o outcome) {
			for _, m := range o.Members {
				limit := ops.JoinLimit(o.e, *o.State, m)
				AddMember(o.State, m, o.Founds(o.e))
				w := &o.Kube.Members[o.MemberIndex(m)].Workload
				w.Settings, w.JoinLimit, w.AgentImage = o.settings(), limit, rules.AgentImage(o.e, o.Cluster)
			}
		},
		ops.ActionCorrect:     func(o outcome) { corrected(o.State, o.Member(), o.settings()) },
		ops.ActionConfigure:   func(o outcome) { configured(o.State, o.e) },
		ops.ActionHelperImage: func(o outcome) { o.SetFact(v1alpha1.FactHelperImage) },
		ops.ActionRecordFormed: func(o outcome) {
			o.Cluster.Status.Bootstrap.ClusterID = o.View.ClusterIDs[0]
		},
		ops.ActionDisableBootstrap: func(o outcome) {
			for i := range o.Kube.Members {
				o.Kube.Members[i].Workload.Bootstrap = false
			}
		},
		ops.ActionRegister: func(o outcome) {
			o.View.MemberList = append(o.View.MemberList, engine.Registered{ID: predictedID(*o.State, o.Member()),
				Name: o.Member(), Witness: o.Witness})
			o.Cluster.Status.Bootstrap.Remove(o.Member(), false)
			o.Cluster.Status.Bootstrap.SetWitness(o.Member(), o.Witness)
		},
		ops.ActionPromote: func(o outcome) { setVoter(o.e, o.State, o.Member()) },
		ops.ActionDeregister: func(o outcome) {
			o.Cluster.Status.Bootstrap.Remove(o.Member(), true)
			dropRegistered(o.State, o.Member())
			if o.e.Capabilities().NamesOnce {
				o.View.Retired = append(slices.Clone(o.View.Retired), o.Member())
			}
		},
		ops.ActionKeep:     func(o outcome) { o.Cluster.Status.Bootstrap.Remove(o.Member(), false) },
		ops.ActionHandOver: func(o outcome) { handedOver(o.State, o.To) },
		ops.ActionFailOver: func(o outcome) {
			o.View.Candidates = nil
			o.Lead(o.To)
		},
		ops.ActionCutOver: func(o outcome) {
			o.View.Source = nil
			o.SetFact(v1alpha1.FactCutOver)
		},
		ops.ActionFollow: func(o outcome) {
			o.View.Source = &engine.Source{Address: o.Operation.Spec.Follow, Following: true, Linked: true}
			o.SetFact(v1alpha1.FactFollows)
		},
		ops.ActionEndBack: func(o outcome) { o.SetFact(v1alpha1.FactFinished) },
		ops.ActionTakeBack: func(o outcome) {
			for i := range o.View.Members {
				if m := &o.View.Members[i]; m.Name == o.Member() {
					m.Overridden = nil
				}
			}
		},
		ops.ActionHold: func(o outcome) {
			o.View.Hold = nil
			if spec := o.Operation.Spec; !spec.HoldEnd {
				o.View.Hold = &engine.Hold{For: spec.HoldFor.Duration, By: spec.RequestedBy, Why: spec.HoldWhy}
			}
			o.SetFact(v1alpha1.FactHeld)
		},
		ops.ActionRetire: func(o outcome) {
			for _, m := range o.Members {
				DropMember(o.State, m)
			}
		},
		ops.ActionDeleteVolume: func(o outcome) {
			for _, m := range o.Members {
				DropMember(o.State, m)
			}
		},
		ops.ActionUpgrade:   func(o outcome) { upgraded(o) },
		ops.ActionDowngrade: func(o outcome) { upgraded(o) },
		ops.ActionGrow: func(o outcome) {
			for _, m := range o.Members {
				o.Kube.Members[o.MemberIndex(m)].Volume.Size = o.Cluster.Spec.Storage.Size.DeepCopy()
			}
		},
		ops.ActionRoll:     func(o outcome) { rolled(o) },
		ops.ActionAnnounce: func(o outcome) { o.View.Downgrade = o.Cluster.Spec.Version },
		ops.ActionWithdraw: func(o outcome) {
			o.View.Downgrade = ""
			unsetFact(o.State, v1alpha1.FactPrepared)
		},
		ops.ActionRestart: func(o outcome) {
			o.member().Pod.UID = "predicted"
			o.Reloaded(o.Member())
		},
		ops.ActionRevive:    func(o outcome) { o.member().Pod = observe.Pod{Exists: true, UID: "predicted"} },
		ops.ActionRepair:    func(o outcome) { repaired(o.State, o.e, o.Step) },
		ops.ActionRenew:     func(o outcome) { renewed(o.State, o.Step) },
		ops.ActionAddCA:     func(o outcome) { authorities(o.State, o.Action) },
		ops.ActionTrust:     func(o outcome) { authorities(o.State, o.Action) },
		ops.ActionPromoteCA: func(o outcome) { authorities(o.State, o.Action) },
		ops.ActionDropCA:    func(o outcome) { authorities(o.State, o.Action) },
		ops.ActionDefragment: func(o outcome) {
			o.SetFact(etcd.FactDefragmented(o.Member()))
			freed(o.State, o.Member())
		},
		ops.ActionCompact: func(o outcome) {
			o.SetFact(v1alpha1.FactCompacted)
			forgot(o.State)
		},
		ops.ActionCompare:     func(o outcome) { o.SetFact(v1alpha1.FactCompared) },
		ops.ActionClearAlarms: func(o outcome) { cleared(o.State, o.Alarm) },
		ops.ActionProveWrite:  func(o outcome) { o.SetFact(v1alpha1.FactWritten) },
		ops.ActionPrepare:     func(o outcome) { o.SetFact(v1alpha1.FactPrepared) },
		ops.ActionCredentials: func(o outcome) { o.SetFact(v1alpha1.FactCredentials) },
		ops.ActionEnsureUser:  func(o outcome) { o.SetFact(rules.FactUser(o.User)) },
		ops.ActionDeleteUser:  func(o outcome) { o.SetFact(rules.FactDeleted(o.User)) },
		ops.ActionRotate:      func(o outcome) { o.SetFact(rules.FactRotated(o.User)) },
		ops.ActionDropOld:     func(o outcome) { o.SetFact(rules.FactRotated(o.User)) },
		ops.ActionEnableAuth:  func(o outcome) { o.SetAuth(engine.AuthOn) },
		ops.ActionDisableAuth: func(o outcome) { o.SetAuth(engine.AuthOff) },
		ops.ActionProveAuth: func(o outcome) {
			o.SetFact(v1alpha1.FactProved)
			if o.Cluster.Spec.InitialSQL == nil {
				o.Cluster.Status.Bootstrap.Finish()
			}
		},
		ops.ActionInitialSQL: func(o outcome) {
			o.SetFact(v1alpha1.FactInitialSQL)
			o.Cluster.Status.Bootstrap.Finish()
		},
		ops.ActionBackup: func(o outcome) { o.SetFact(v1alpha1.FactBackup) },
		ops.ActionVerify: func(o outcome) { o.SetFact(v1alpha1.FactVerified) },
		ops.ActionPrune:  func(o outcome) { o.SetFact(v1alpha1.FactPruned) },
		ops.ActionStopBackup: func(o outcome) {
			o.SetFact(v1alpha1.FactStopped)
			o.Kube.Helpers = nil
		},
		ops.ActionProveBackup: func(o outcome) { o.SetFact(v1alpha1.FactProven) },
		ops.ActionArchive:     func(o outcome) { archived(For(o.e, *o.State), o.State, o.Step) },
		ops.ActionUnarchive:   func(o outcome) { archived(For(o.e, *o.State), o.State, o.Step) },
		ops.ActionSchedule:    func(o outcome) { rescheduled(For(o.e, *o.State), o.State) },
		ops.ActionUnschedule:  func(o outcome) { rescheduled(For(o.e, *o.State), o.State) },
		ops.ActionStop:        func(o outcome) { stopped(o.State, o.Members) },
		ops.ActionFence:       func(o outcome) { stopped(o.State, o.Members) },
		ops.ActionForgetPods: func(o outcome) {
			for _, m := range o.Members {
				o.Kube.Members[o.MemberIndex(m)].Pod = observe.Pod{}
			}
		},
		ops.ActionExamine: func(o outcome) {
			for _, name := range o.Members {
				o.SetFact(v1alpha1.FactExamined(name))
			}
		},
		ops.ActionRecoverData: func(o outcome) {
			_, fact := ops.StoppedBackup(o.Operation)
			o.SetFact(fact)
		},
		ops.ActionNewIncarnation: func(o outcome) { newIncarnation(o.State, o.Member()) },
		ops.ActionOldIncarnation: func(o outcome) { oldIncarnation(o.State) },
		ops.ActionStandby: func(o outcome) {
			o.SetFact(v1alpha1.FactConverter)
			o.Kube.Helpers = append(slices.Clone(o.Kube.Helpers), observe.Helper{Name: ops.Converter(o.Member()), Running: true})
		},
		ops.ActionDismiss: func(o outcome) { o.Kube.Helpers = nil },
		ops.ActionConvert: func(o outcome) {
			o.Kube.Helpers = nil
			o.Cluster.Status.Bootstrap.InPlace, o.Cluster.Status.Bootstrap.Loaded = v1alpha1.InPlaceAsked, true
			o.member().Volume.Token = o.Bootstrap().Token
		},
		ops.ActionRevert: func(o outcome) { o.Cluster.Status.Bootstrap.InPlace = v1alpha1.InPlaceReverted },
		ops.ActionDeleteAll: func(o outcome) {
			o.Kube.Services, o.Kube.Certificates, o.Kube.Budget = false, false, nil
			o.SetFact(v1alpha1.FactObjectsDeleted)
		},
		ops.ActionWriteRecord:     func(o outcome) { o.Cluster.ResourceVersion = "predicted" },
		ops.ActionRestoreCA:       func(o outcome) { restoredAuthority(o.State) },
		ops.ActionDeleteLeftovers: func(o outcome) { o.Kube.Leftovers = nil },
		ops.ActionForget:          func(o outcome) { o.Cluster = nil },
		ops.ActionWait: func(o outcome) {
			if !o.e.Capabilities().Learners {
				becomeWhole(o.State)
			}
			settle(o.e, o.State)
		},
	}
}
