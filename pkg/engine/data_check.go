package engine

import "context"

// DataChecker is what a Session also is whose members have a program that finds damage in their data.
type DataChecker interface {
	// CheckData has that program check the data of a throw-away member, which it may write to.
	CheckData(ctx context.Context, member string) (DataCheck, error)
}

// DataCheck is what a program of the database found.
type DataCheck struct {
	// By says what was checked, and by which program; "" where the member has none.
	By string
	// Problems name what is damaged, in one line each.
	Problems []string
}
