package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// CheckRestore implements engine.Rules: the same series or the next one, as
// for an upgrade; an older server does not read newer data. The floors of an
// upgrade's target hold as well, those of its source do not: no member of the
// old version takes part.
func (*Engine) CheckRestore(from, target string) error {
	has, err := versions.Parse(from)
	if err != nil {
		return refusal.New("backup-version", "kubectl dbop restore --help",
			"the backup does not say which etcd made it: %v",
			err)
	}
	to, err := versions.Supported(target)
	if err != nil {
		return err
	}
	if to.Less(versions.RestoreFloor.At) {
		return refusal.New("version-floor", "choose "+versions.RestoreFloor.At.String()+" or newer",
			"etcd %s is older than %s: %s (%s)", to, versions.RestoreFloor.At, versions.RestoreFloor.Reason,
			versions.RestoreFloor.Link)
	}
	switch to.Line() {
	case has.Line():
		return nil
	case has.Line().Next():
		if s, ok := versions.StepFrom(has.Line()); ok && to.Less(s.Target.At) {
			return refusal.New("version-floor", "choose "+s.Target.At.String()+" or newer",
				"%s is older than %s: %s (%s)", to, s.Target.At, s.Target.Reason, s.Target.Link)
		}
		return nil
	default:
		return refusal.New("backup-version", "restore with "+has.Line().String()+" or "+has.Line().Next().String(),
			"a backup of etcd %s cannot be loaded by %s, only by the same minor or the next", has, to)
	}
}
