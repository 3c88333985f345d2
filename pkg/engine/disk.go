package engine

import "fmt"

// Brimful is the share of a disk or quota from which on writes may stop any moment.
const Brimful = 0.95

// leastFree is the free space without which a server may fail to write, however large the disk: a file of a server's
// log may take as much at once, and what does not fit is taken away again.
const leastFree = 16 << 20

// Disk is how full the file system of a member's volume is, in bytes. The zero value is not known.
type Disk struct {
	Used int64 `json:"used"`
	// Total is what may be used: less than the file system has, where it keeps some for the superuser.
	Total int64 `json:"total"`
}

// Share is the part that is used, from 0 to 1; 0 where it is not known.
func (d Disk) Share() float64 {
	if d.Total <= 0 {
		return 0
	}
	return float64(d.Used) / float64(d.Total)
}

// Full reports whether a server may fail to write at any moment.
func (d Disk) Full() bool {
	return d.Total > 0 && (d.Share() >= Brimful || d.Total-d.Used < leastFree)
}

// String is how people read it: "97% full (229 of 236 MiB)".
func (d Disk) String() string {
	if d.Total <= 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.0f%% full (%d of %d MiB)", 100*d.Share(), d.Used>>20, d.Total>>20)
}
