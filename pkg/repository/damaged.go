package repository

import "errors"

// Damaged is a backup whose manifest can't be read. As an error it says why,
// and errors.Is tells ErrDamaged from ErrFormat.
type Damaged struct {
	ID  string
	Err error
}

func (d *Damaged) Error() string { return d.Err.Error() }

// Unwrap returns the reason.
func (d *Damaged) Unwrap() error { return d.Err }

// SplitDamaged takes the error of a listing apart: the backups whose manifests
// can't be read, which are not in the list, and any other error, after which
// the list is worth nothing.
func SplitDamaged(err error) ([]*Damaged, error) {
	if err == nil {
		return nil, nil
	}
	if d, ok := err.(*Damaged); ok { //nolint:errorlint // a wrapped one may be one of several
		return []*Damaged{d}, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, err
	}
	var all []*Damaged
	for _, part := range joined.Unwrap() {
		d, ok := errors.AsType[*Damaged](part)
		if !ok {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}
