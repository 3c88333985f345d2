package executor

import (
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// entries are what a user's secret holds beside the password: what an application needs to connect, by the keys that
// are usual for it.
func (l *Executor) entries(s ops.State, user string) password.Entries {
	c, ok := l.Engine.(engine.Connector)
	if !ok {
		return nil
	}
	way := c.Connections(s.Cluster, rules.UserNamed(s, user), nil)[0].URL
	return func(p password.Password) map[string]string {
		full := way
		full.User = url.UserPassword(p.User, p.Password)
		return map[string]string{"host": way.Hostname(), "port": way.Port(), "user": p.User,
			"dbname": strings.TrimPrefix(way.Path, "/"), "uri": full.String()}
	}
}
