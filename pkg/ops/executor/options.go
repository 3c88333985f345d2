package executor

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

var _ ops.OptionReader = (*Executor)(nil)

// ReadOptions implements ops.OptionReader.
func (l *Executor) ReadOptions(ctx context.Context) ([]engine.LiveOption, error) {
	if _, live := l.Engine.(engine.LiveSettings); !live {
		return nil, nil
	}
	s, err := l.Observe(ctx) // who leads is asked first
	if err != nil || s.Cluster == nil {
		return nil, err
	}
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return nil, err
	}
	reader, ok := session.(engine.OptionReader)
	if !ok {
		return nil, nil
	}
	options, err := reader.ReadOptions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the options of %s: %w", l.Name, err)
	}
	return options, nil
}
