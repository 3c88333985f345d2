package v1alpha1

// TargetLatest takes all of the log, in the place of a time.
const TargetLatest = "latest"

// RecoveryTarget is where a restore ends in the archived log. One of Time, LSN, Name and Transaction is set; none is
// the end of the backup.
//
// +kubebuilder:validation:XValidation:rule="[has(self.time), has(self.lsn), has(self.name), has(self.transaction)].filter(x, x).size() == 1",message="a target is one of time, lsn, name and transaction",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.exclusive) || !self.exclusive || !has(self.name) && (!has(self.time) || self.time != 'latest')",message="exclusive is for a time, an lsn or a transaction",fieldPath=".exclusive",reason=FieldValueInvalid
type RecoveryTarget struct {
	// Time is a moment in RFC 3339: what was committed later is left out. "latest" takes all of the log.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^(latest|[-0-9]{10}T[0-9:.]{8,18}Z)$`
	Time string `json:"time,omitempty"`
	// LSN is a place in the log, such as 0/3000060: the record at it, or the first one behind it, is the last.
	// +kubebuilder:validation:MaxLength=17
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$`
	LSN string `json:"lsn,omitempty"`
	// Name is a restore point that a client made. The first of that name behind the backup counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[^[:cntrl:]]+$`
	Name string `json:"name,omitempty"`
	// Transaction is the number of one, as pg_current_xact_id() tells it: the log is used up to its end.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*$`
	Transaction string `json:"transaction,omitempty"`
	// Exclusive stops right before the target.
	Exclusive bool `json:"exclusive,omitempty"`
	// Timeline is the history that is followed. By default that is the newest that is archived.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^[0-9]*$`
	Timeline string `json:"timeline,omitempty"`
}

// Set reports whether there is a target: then the log is used beyond the end of the backup.
func (t RecoveryTarget) Set() bool {
	return t.Time != "" || t.LSN != "" || t.Name != "" || t.Transaction != ""
}

// String is the target in words, such as "LSN 0/3000060"; "" for none.
func (t RecoveryTarget) String() string {
	word := t.Time
	switch {
	case t.LSN != "":
		word = "LSN " + t.LSN
	case t.Name != "":
		word = "restore point " + t.Name
	case t.Transaction != "":
		word = "transaction " + t.Transaction
	}
	if t.Exclusive {
		return "right before " + word
	}
	return word
}
