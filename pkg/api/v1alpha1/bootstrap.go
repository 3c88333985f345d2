package v1alpha1

import (
	"slices"
)

// Bootstrap is written before the first member starts. Until ClusterID is set
// the founding members, and only they, may start as a new cluster; from then
// on every member joins an existing one, for good.
type Bootstrap struct {
	// Token separates this cluster from any other of the same name.
	Token string `json:"token"`
	// Members are the names of the founding members.
	Members []string `json:"members"`
	// ClusterID is what the members said once they had formed.
	ClusterID string `json:"clusterID,omitempty"`
	// Loaded says that the founding member's volume holds the restored backup.
	Loaded bool `json:"loaded,omitempty"`
	// ExpectedProof is that of the loaded backup, to be compared by the engine
	// with what the founding member serves; "" if the engine can't prove it.
	ExpectedProof string `json:"expectedProof,omitempty"`
	// ExpectedMark is what the founding member may be asked instead of reading
	// all its keys: it was taken of its data when that was seen to be the backup's.
	ExpectedMark string `json:"expectedMark,omitempty"`
	// Removing names the members whose removal was started. It is written before the
	// member list changes: a volume goes only because its member was to be removed,
	// never because it is not listed.
	// +listType=set
	Removing []string `json:"removing,omitempty"`
	// Witnesses names the members that vote and hold no data. It is written before
	// such a member is announced to the database: its pod is another one.
	// +listType=set
	Witnesses []string `json:"witnesses,omitempty"`
	// InPlace says what is known of the volume of the first member, where that is the volume of a member of the
	// incarnation before, whose data is converted there; "" where the first member has a volume of its own.
	// +kubebuilder:validation:Enum=Asked;Reverted;Final
	InPlace InPlace `json:"inPlace,omitempty"`
	// Unfinished says that the users of a new cluster and its initial SQL are not all there yet. It is written down
	// with the cluster, so that it outlives the record of the operation that creates it.
	Unfinished bool `json:"unfinished,omitempty"`
	// Incarnation counts in-place restores, and what takes them back: of two copies of a record the one that counted
	// further is the later.
	Incarnation int32 `json:"incarnation,omitempty"`
}

// InPlace is how far data is that is converted on the volume of its member.
type InPlace string

// The stages of such data.
const (
	// InPlaceAsked: the volume may hold data of either version.
	InPlaceAsked InPlace = "Asked"
	// InPlaceReverted: the conversion was taken back, and the data is the former version's.
	InPlaceReverted InPlace = "Reverted"
	// InPlaceFinal: the later version was started on it, and the former one can't use it any more.
	InPlaceFinal InPlace = "Final"
)

// Remove notes that the removal of a member has started, or takes that back; false
// if that is what it says already.
func (f *Bootstrap) Remove(member string, started bool) bool {
	return set(&f.Removing, member, started)
}

// SetWitness notes whether a member is a witness; false if that is what it says already.
func (f *Bootstrap) SetWitness(member string, is bool) bool { return set(&f.Witnesses, member, is) }

// Finish notes that the users and the initial SQL of a new cluster are there; false if that is what it says already.
func (f *Bootstrap) Finish() bool {
	was := f.Unfinished
	f.Unfinished = false
	return was
}

// set puts a name into a list or takes it out, without a change to what shares
// the list; false if there was nothing to do.
func set(list *[]string, name string, in bool) bool {
	if slices.Contains(*list, name) == in {
		return false
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(m string) bool { return m == name })
	if in {
		*list = append(*list, name)
	}
	return true
}
