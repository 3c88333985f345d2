package repository

// Surplus names the backups that go when the newest keep scheduled ones of a
// cluster stay, oldest last. all is a listing, newest first; half a backup is
// not in it, and one whose manifest can't be read counts for nothing and stays.
// What was taken by hand or for the safety of an operation is no business of
// a schedule, and the newest backup that was ever restored stays whatever
// made it: the newer ones are not proven.
func Surplus(all []Manifest, cluster, namespace string, keep int) []Manifest {
	var scheduled, own []Manifest
	for _, m := range all {
		if m.Cluster != cluster || m.Namespace != namespace {
			continue
		}
		own = append(own, m)
		if m.Scheduled {
			scheduled = append(scheduled, m)
		}
	}
	if keep < 1 || len(scheduled) <= keep {
		return nil
	}
	proven, _ := NewestVerified(own)
	var out []Manifest
	for _, m := range scheduled[keep:] {
		if m.ID != proven.ID {
			out = append(out, m)
		}
	}
	return out
}
