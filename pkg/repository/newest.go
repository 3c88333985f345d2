package repository

// NewestVerified returns the newest of a listing that was restored and
// compared once, and of which no later proof failed; false if there is none.
func NewestVerified(all []Manifest) (Manifest, bool) {
	var newest Manifest
	for _, m := range all {
		if m.Verified != nil && m.FailedProof == nil && m.FinishedAt.After(newest.FinishedAt) {
			newest = m
		}
	}
	return newest, newest.Verified != nil
}
