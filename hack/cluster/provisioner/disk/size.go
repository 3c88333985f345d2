// Package disk makes volumes of a real size: each is an XFS file system in a
// file, on a loop device, so it fills up and it grows as a disk does.
package disk

// Smallest is the least that mkfs.xfs makes; claims for less get this.
const Smallest = 300 << 20

// granule is what sizes are rounded up to. XFS counts in blocks, a loop
// device in sectors; whole MiB suit both.
const granule = 1 << 20

// FileSize is the size of the file behind a claim for that many bytes.
func FileSize(requested int64) int64 {
	if requested < Smallest {
		return Smallest
	}
	return (requested + granule - 1) / granule * granule
}
