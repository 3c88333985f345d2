//go:build linux

package movein

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// compareTime bounds what a comparison adds to the time for which nobody can write.
const compareTime = 2 * time.Second

// endTime is left for what a cut over does after the comparison.
const endTime = time.Second

// compare counts the rows of the tables on both sides, the smallest table first, while nobody writes on either. It ends
// without an error when its time is over, and says how far it came.
func (m *Move) compare(ctx context.Context, f *source.Fence) (string, error) {
	until := time.Now().Add(compareTime)
	if end, ok := ctx.Deadline(); ok && end.Add(-endTime).Before(until) {
		until = end.Add(-endTime)
	}
	all, counted, slow := 0, 0, false
	for i, d := range m.survey.Databases {
		all += len(d.Tables)
		if slow || len(d.Tables) == 0 {
			continue
		}
		n, err := m.compareIn(ctx, f, i, until)
		counted += n
		if slow = errors.Is(err, source.ErrSlow); err != nil && !slow {
			return "", err
		}
	}
	return comparison(counted, all), nil
}

func comparison(counted, all int) string {
	switch {
	case all == 0:
		return ""
	case counted == 0:
		return fmt.Sprintf("no table was counted within %s", compareTime)
	case counted < all:
		return fmt.Sprintf("%d of %d tables have as many rows as at the source, the others were not counted within %s",
			counted, all, compareTime)
	}
	return fmt.Sprintf("every table (%d) has as many rows as at the source", all)
}

// compareIn does so in one database, and returns how many of its tables agree.
func (m *Move) compareIn(ctx context.Context, f *source.Fence, i int, until time.Time) (counted int, err error) {
	d := m.survey.Databases[i]
	own, err := m.server.Enter(ctx, d.Name)
	if err != nil {
		return 0, fmt.Errorf("compare the database %q with that of the source: %w", d.Name, err)
	}
	defer func() { _ = own.Close(context.WithoutCancel(ctx)) }()
	tables, err := local.Ask(ctx, own, source.SmallestFirst(d.Tables))
	if err != nil {
		return 0, fmt.Errorf("compare the database %q with that of the source: %w", d.Name, err)
	}
	for _, row := range tables[0] {
		within := time.Until(until)
		if within <= 0 {
			return counted, source.ErrSlow
		}
		var here, there string
		var both errgroup.Group // each ends by itself in time
		both.Go(func() (err error) {
			there, err = f.Count(ctx, i, row[0], within)
			return err
		})
		both.Go(func() error {
			got, err := local.Ask(ctx, own, source.CountRows(row[0], within))
			if source.Slow(err) {
				return source.ErrSlow
			}
			if err == nil {
				here = got[1][0][0]
			}
			return err
		})
		switch err := both.Wait(); {
		case errors.Is(err, source.ErrSlow):
			return counted, err
		case err != nil:
			return counted, fmt.Errorf("count the rows of %s in the database %q: %w", row[0], d.Name, err)
		case here != there:
			return counted, fmt.Errorf("the table %s of its database %q has %s rows, and %s here: somebody wrote or deleted "+
				"rows here; delete this cluster, and make it again", row[0], d.Name, there, here)
		}
		counted++
	}
	return counted, nil
}
