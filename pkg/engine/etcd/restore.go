package etcd

// CheckRestore implements engine.Rules: the same series or the next one, as
// for an upgrade; an older server does not read newer data. The floors of an
// upgrade's target hold as well, those of its source do not: no member of the
// old version takes part.
func (*Engine) CheckRestore(from, target string) error {
	has, err := parseVersion(from)
	if err != nil {
		return refuse("backup-version", "kubectl dbop restore --help", "the backup does not say which etcd made it: %v", err)
	}
	to, err := supported(target)
	if err != nil {
		return err
	}
	if to.less(restoreFloor.at) {
		return refuse("version-floor", "choose "+restoreFloor.at.String()+" or newer",
			"etcd %s is older than %s: %s (%s)", to, restoreFloor.at, restoreFloor.reason, restoreFloor.link)
	}
	switch to.line() {
	case has.line():
		return nil
	case has.line().next():
		if s, ok := stepFrom(has.line()); ok && to.less(s.target.at) {
			return refuse("version-floor", "choose "+s.target.at.String()+" or newer",
				"%s is older than %s: %s (%s)", to, s.target.at, s.target.reason, s.target.link)
		}
		return nil
	default:
		return refuse("backup-version", "restore with "+has.line().String()+" or "+has.line().next().String(),
			"a backup of etcd %s cannot be loaded by %s, only by the same minor or the next", has, to)
	}
}
