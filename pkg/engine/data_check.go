package engine

import "context"

// DataChecker is what a Session also is whose members have a program that looks for damage in their data.
type DataChecker interface {
	// CheckData has that program look in the data of a throw-away member, which it may write to.
	CheckData(ctx context.Context, member string) (DataCheck, error)
}

// DataCheck is what a program of the database found.
type DataCheck struct {
	// By says what was looked at, and by which program; "" where the member has none.
	By string
	// Problems name what is damaged, in one line each.
	Problems []string
}
