package archive

import (
	"context"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// aged is a store that says of objects whose keys begin in one of these ways that they appeared earlier than they did.
type aged struct {
	store.Store

	by map[string]time.Duration
}

func (a aged) change(o *store.Object) {
	for prefix, by := range a.by {
		if strings.HasPrefix(o.Key, prefix) {
			o.Modified = o.Modified.Add(-by)
		}
	}
}

func (a aged) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := a.Store.Head(ctx, key)
	a.change(&o)
	return o, err
}

func (a aged) List(ctx context.Context, prefix, token string) (store.Page, error) {
	p, err := a.Store.List(ctx, prefix, token)
	for i := range p.Objects {
		a.change(&p.Objects[i])
	}
	return p, err
}
