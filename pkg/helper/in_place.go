package helper

import (
	"context"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// inPlace has the command read the file of a backup where the repository keeps it, while the same bytes are compared
// with what the manifest says. Damage is told rather than what the command makes of it.
func (r *receiver) inPlace(ctx context.Context, repo *repository.Directory, id string) error {
	in, m, err := repo.Reader(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return r.fill(m.Bytes, true, func() error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		compared := make(chan error, 1)
		go func() {
			_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r.counted(in), make([]byte, wire.Chunk))
			if err != nil {
				stop()
			}
			compared <- err
		}()
		failed := r.build(ctx, repo.DataFile(m))
		if err := <-compared; err != nil {
			return fmt.Errorf("read the backup: %w", err)
		}
		return failed
	})
}
