package boltfile

import "slices"

// farthest is how many bytes of a child are read ahead at most: its length is known once it is read.
const farthest = 256 << 10

// extent is a part of the file.
type extent struct{ offset, length int64 }

// ahead are the parts of the file that hold the children of a branch, as far as that is known before they are read: a
// child ends where another one begins. Those next to each other are one part.
func ahead(children []uint64, pageSize int64) (parts []extent) {
	slices.Sort(children)
	for i, id := range children {
		at := int64(id) * pageSize // #nosec G115 -- what is beyond the file is not read
		length := max(farthest, pageSize)
		if i+1 < len(children) {
			length = min(length, int64(children[i+1])*pageSize-at) // #nosec G115 -- as above
		}
		if n := len(parts); n > 0 && parts[n-1].offset+parts[n-1].length == at {
			parts[n-1].length += length
			continue
		}
		parts = append(parts, extent{at, length})
	}
	return parts
}

// expect has the system read the children of a branch before they are asked for, and reports whether it is one. A walk
// goes backwards, where the system does not see by itself what comes next, and a pod that has just written a file keeps
// little of it in memory. It is told of a branch before the walk is through with the one after that, so that the disk
// reads while the caller has the pairs.
func (w *walk) expect(id uint64) bool {
	p, err := w.file.read(id, &w.ahead)
	if err != nil || p.kind != branchPage {
		return false // the walk says what is wrong when it gets there
	}
	children := make([]uint64, 0, p.count)
	for i := range p.count {
		e, err := p.element(i)
		if err != nil {
			return false
		}
		children = append(children, min(e.child, w.file.meta.pages))
	}
	for _, part := range ahead(children, w.file.meta.pageSize) {
		w.hint(w.file.file, part)
	}
	return true
}

// expectElement expects the child that an element of a branch leads to, if there is one.
func (w *walk) expectElement(p page, i int) bool {
	if i < 0 {
		return false
	}
	e, err := p.element(i)
	return err == nil && w.expect(e.child)
}
