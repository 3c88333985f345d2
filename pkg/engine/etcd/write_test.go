package etcd

import (
	"context"
	"errors"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

// put writes a key to a member. With until set it is an error that the write
// did not fail with those words.
func (f *fleet) put(member, key, value, until string) error {
	err := f.client(member, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Put(ctx, key, value)
		return err
	})
	switch {
	case until == "":
		return err
	case err == nil:
		return errors.New("the write succeeded")
	case strings.Contains(err.Error(), until):
		return nil
	default:
		return err
	}
}

// client lends a client of one member.
func (f *fleet) client(member string, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
	defer cancel()
	var failed error
	err := f.session.With(member, func(c *client.Connection) bool {
		failed = do(ctx, c.Client)
		return true
	})
	return errors.Join(err, failed)
}
