package engine

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// Rules are the engine's knowledge as pure functions. A returned error is a
// refusal: it says what is wrong, with the engine's own reason, and what would
// unblock it; nil means go on.
type Rules interface {
	Versions
	// CheckCreate judges a spec before anything exists. force waives what a person may waive.
	CheckCreate(spec v1alpha1.DatabaseClusterSpec, force bool) error
	// Witnesses is how many members the engine adds to those that a person counts:
	// they vote and hold no data. Their session is a WitnessRegistrar if this is
	// ever not 0.
	Witnesses(spec v1alpha1.DatabaseClusterSpec) int
	// MinAvailable is how many of so many members must stay so that the cluster
	// serves; 0 where none can be spared or none matters.
	MinAvailable(members int) int
	// AssessLoss says what may be lost if that member goes and nobody took over
	// from it, in one sentence without a full stop; "" if nothing that was
	// acknowledged can be.
	AssessLoss(v View, without string) string
	// CheckAdd judges whether one more member may join now.
	CheckAdd(View) error
	// JoinsAtOnce is how many members may be joining side by side, at least one. told says of each member that has a pod
	// what it was told of that, as JoinLimiter reads it; of an engine that is none all say 0.
	JoinsAtOnce(v View, told map[string]int) int
	// CheckRemove judges whether the named member may leave now.
	CheckRemove(v View, member string) error
	// CheckSettings judges options and the size of volumes for a cluster that
	// is there: what the view says of its data must fit. The view is empty
	// before the cluster was observed. force as in CheckCreate.
	CheckSettings(v View, spec v1alpha1.DatabaseClusterSpec, force bool) error
	// CheckUpgrade judges the step from every member's version to target, with the cluster's options.
	CheckUpgrade(v View, spec v1alpha1.DatabaseClusterSpec, target string) error
	// Preparation says what must be done to the running cluster before the
	// first member changes to target, and why; "" for nothing. The session is
	// a Preparer if this is ever not empty.
	Preparation(v View, target string) string
	// CheckUpgraded says why a move to target, up or down, is not complete yet: a
	// member, the protocol of the cluster or the data format is not of it; nil when done.
	CheckUpgraded(v View, target string) error
	// CheckDowngrade judges the step of the whole cluster down to target, with
	// the cluster's options, before it is announced and before the first member moves.
	CheckDowngrade(v View, spec v1alpha1.DatabaseClusterSpec, target string) error
	// CheckLowered says why members may not restart on the older target yet:
	// the protocol of the cluster or the data format of one of them is still
	// newer; nil when they may.
	CheckLowered(v View, target string) error
	// CheckRollback judges whether members may still be put back on version to
	// in the middle of an upgrade.
	CheckRollback(v View, to string) error
	// CheckRestore judges whether a backup of that server version may be loaded by target.
	CheckRestore(from, target string) error
	// Health says why a member is not a healthy, full member of the cluster; nil if it is.
	Health(v View, member string) error
	// Tolerates is how many more healthy voters may fail before the cluster
	// stops: healthy - quorum. Negative without quorum.
	Tolerates(View) int
	// Successor picks whom to hand leadership to, never from except; "" if nobody is fit.
	Successor(v View, except ...string) string
	// RemovalCandidate picks the member that leaves when the size shrinks; never a witness.
	RemovalCandidate(View) string
	// Source picks the member to take a backup from; "" if nobody is fit.
	// leader asks for the leader where the engine allows it: before its data is
	// dropped, a backup must hold what was written last.
	Source(v View, leader bool) string
	// Compare orders two positions: -1, 0, 1, and false if they can't be compared.
	Compare(a, b Position) (int, bool)
	// Lag is how far the member's position is behind the leader's; false if they
	// can't be compared. A member that was asked a moment later is not behind.
	Lag(Gap) (Distance, bool)
	// Readings take a position apart for people; nil for one of another engine.
	Readings(Position) []Reading
	// CompareProofs says whether got proves the data that want proves.
	CompareProofs(want, got Proof) Match
}
