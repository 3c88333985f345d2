package engine

// DataRecoverer is what an Engine also is if a cluster whose majority is lost for
// good can be started again from the data of one member.
type DataRecoverer interface {
	// InspectDataDir reads the data directory of a member that does not run, and
	// changes nothing in it. Damage is what it finds, not an error.
	InspectDataDir(dir string) DataDirInfo
	// CompareDataDirs orders the positions of two DataDirInfos by the engine's own
	// rule of whose history goes first: -1, 0, 1, and false if they are not of
	// one cluster, or if neither is known to hold all of the other: then a person
	// chooses. It is not Rules.Compare, which knows only what is applied.
	CompareDataDirs(a, b Position) (int, bool)
	// DataDirLag says in words what the member's data lacks of that which goes
	// first (Leader), as far as their positions tell.
	DataDirLag(Gap) string
	// SameDatabase reports whether data with a DataDirInfo.ClusterID is of the
	// cluster with the recorded one.
	SameDatabase(found, recorded string) bool
	// RecoveryNotice says what clients notice of a recovery besides writes that
	// are lost; "" for nothing.
	RecoveryNotice() string
	// RecoveryPod renders the pod that serves a copy of a member's data as a
	// database of one, whatever else the data says of its members. It is always
	// Loopback: nobody may take it for the cluster that it was.
	RecoveryPod(in PodInput) (Pod, error)
}

// DataDirInfo is what the data of a stopped member says of itself.
type DataDirInfo struct {
	// Intact is true if the data opens clean; Problem says why not.
	Intact  bool   `json:"intact"`
	Problem string `json:"problem,omitempty"`
	// MemberID and ClusterID as in Member, as far as the data knows them. Without
	// a ClusterID the member can't run again as it is.
	MemberID  string `json:"memberID,omitempty"`
	ClusterID string `json:"clusterID,omitempty"`
	// Position is the end of the member's history, applied or not.
	Position Position `json:"position,omitempty"`
	// Readings of the data that it has applied.
	Readings []Reading `json:"readings,omitempty"`
	Bytes    int64     `json:"bytes,omitempty"`
	// InOrder: the member led, and was stopped in order, so that an InPlaceConverter takes its data as it is, and can go
	// back.
	InOrder bool `json:"inOrder,omitempty"`
	// Summary says the position in the engine's words.
	Summary string `json:"summary,omitempty"`
}
